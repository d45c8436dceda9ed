// Guided tours of five minutes. Each step says what to look at and sets the page up for it; the last one asks a question.

import CHOKE2004 from "../../python/sluicegate/scenarios/choke2004.toml?raw";
import type { State } from "./state";
import { stateOf } from "./state";

export interface Step {
  title: string;
  text: string[];
  /** A new run for this step, and its speed. */
  begin?: { state: State; speed: number };
  /** Changes in the run of the step before. */
  set?: [side: number | null, key: string, value: string][];
  question?: string;
  /** Whether the theory's curve stands beside what is measured. */
  theory?: boolean;
}

export interface Tour {
  name: string;
  title: string;
  steps: Step[];
}

const scenario = (network: string, queue: string, flows: string[], duration = "600 s") =>
  `[network]\n${network}\n\n[queue]\n${queue}\n\n${flows.map((flow) => `[[flows]]\n${flow}\n`).join("\n")}\n[run]\nduration = "${duration}"\n`;

const state = (text: string, disciplines: (string | null)[] = [null], sets: Record<string, string> = {}): State => ({
  ...stateOf(text), disciplines, sets, own: disciplines.map(() => ({})),
});

const RED = scenario(
  'rate = "10 Mbit/s"\ndelay = "20 ms"',
  'discipline = "drop_tail"\nlimit = 100\n\n[queue.red]\nmin_th = 15\nmax_th = 45\nmax_p = 0.1\nw_q = 0.002',
  ['kind = "tcp"\ncount = 24\nalgorithm = "newreno"\nprofile = "ns2"\nwindow = 100'],
);

const UNRESPONSIVE = scenario(
  'rate = "1 Mbit/s"\ndelay = "1 ms"',
  'discipline = "drop_tail"\nlimit = 300\nmin_th = 30\nmax_th = 60',
  ['kind = "tcp"\ncount = 32\nalgorithm = "reno"\nprofile = "ns2"\nwindow = 100', 'kind = "udp"\nrate = "2 Mbit/s"'],
);

const SHORT = scenario(
  'rate = "10 Mbit/s"\ndelay = "1 ms"\naccess_rate = "100 Mbit/s"',
  'discipline = "drop_tail"\nlimit = 240\n\n[queue.dcn]\nq_ref = 24',
  [
    'name = "web users"\nkind = "http"\ncount = 700\nprofile = "dcn2004"\nrtt = "10 ms"\nrtt_max = "150 ms"',
    'name = "long transfers"\nkind = "tcp"\ncount = 6\nprofile = "freebsd45"\nrtt = "20 ms"\nrtt_max = "120 ms"',
  ],
);

const BLOAT = scenario(
  'rate = "10 Mbit/s"\ndelay = "15 ms"',
  'discipline = "drop_tail"\nlimit = 1000\n\n[queue.cake]\nbandwidth = "9.8 Mbit/s"',
  [
    'name = "downloads"\nkind = "tcp"\ncount = 4\nalgorithm = "cubic"',
    'name = "call"\nkind = "udp"\nrate = "80 kbit/s"\npacket_size = "200 B"',
  ],
);

export const TOURS: Tour[] = [
  {
    name: "red",
    title: "What RED does",
    steps: [
      {
        title: "A queue that is only ever full",
        text: [
          "24 transfers of TCP (ns-2's NewReno) share 10 Mbit/s. The queue is Drop Tail: it takes what comes until its 100 packets are full, and then drops what comes. Every packet waits behind almost all of the buffer, 80 ms here, and drops come in bursts, to whoever arrives just then.",
          "Slow the run down with the slider to see single packets; the bars above them are how long each has waited.",
        ],
        begin: { state: state(RED), speed: 2 },
      },
      {
        title: "An average and two thresholds",
        text: [
          "RED (Floyd & Jacobson 1993) beside it, on the same traffic. It keeps a moving average of the queue, the red line, and leaves the queue itself free to take bursts. Below min_th nothing is dropped; between the thresholds an arrival is dropped with a probability that grows with the average, up to max_p; above max_th, all of them.",
          "Drops are early and spread out. Compare the delays of the two charts: the link is as busy, and the wait is a fraction.",
        ],
        begin: { state: state(RED, ["drop_tail", "red"]), speed: 2 },
      },
      {
        title: "How fast the average follows",
        text: [
          "w_q is the weight of the present queue in the average: 0.002, so that the average needs hundreds of arrivals to follow. That is what lets a burst pass. Now w_q is 0.2: look at how the average runs with the queue, and at the drops.",
        ],
        set: [[1, "queue.red.w_q", "0.2"]],
      },
      {
        title: "Your turn",
        text: [
          "w_q is back at 0.002. RED's thresholds and max_p have to fit the traffic: that is what people hold against it, and what Adaptive RED, PIE and CoDel set out to mend.",
        ],
        set: [[1, "queue.red.w_q", "0.002"]],
        question: "Bring the number of flows down to 2, then up to 24 again, and lower max_p to 0.005. When does the average leave the thresholds, and what would you change: max_p, or max_th?",
      },
    ],
  },
  {
    name: "choke",
    title: "Why CHOKe works",
    steps: [
      {
        title: "One flow that never slows down",
        text: [
          "32 transfers of TCP (ns-2's Reno) and one UDP source share 1 Mbit/s. UDP sends 2 Mbit/s whatever is dropped. Under Drop Tail, and under RED beside it, TCP backs off and UDP takes nearly all of the link: a drop says the same to both, and only one of them listens.",
        ],
        begin: { state: state(UNRESPONSIVE, ["drop_tail", "red"]), speed: 10 },
      },
      {
        title: "The queue knows who it is",
        text: [
          "CHOKe (Pan & Prabhakar 1999), beside RED. For each arrival it draws one packet of the queue at random. If both are of one flow, both are dropped. A flow that fills the queue meets itself again and again; one that has few packets in it rarely does. No table of flows is needed.",
          "Slow down to 0.05× and watch: framed packets have been compared with an arrival, pairs of one colour fall out together.",
        ],
        begin: { state: state(UNRESPONSIVE, ["red", "choke"]), speed: 10 },
      },
      {
        title: "The theory beside the measurement",
        text: [
          "The network of Understanding CHOKe (Tang, Wang & Low 2004): 32 transfers, 1 Mbit/s, a round trip of 100 ms. The curve is UDP's part of the throughput by the model of that paper; each dot is what this run measures at the rate that UDP sends at now, once the queue has settled.",
          "UDP's part has a maximum of about a quarter. Beyond it, the more UDP sends, the less it gets: its packets are many at the tail of the queue and few at the head, because they are dropped on their way there.",
        ],
        begin: { state: state(CHOKE2004.replace('duration = "300 s"', 'duration = "20000 s"'), [null], { "flows.1.rate": "1 Mbit/s" }), speed: 60 },
        theory: true,
      },
      {
        title: "Your turn",
        text: ["Move UDP's rate to several places and wait for a dot at each. Then give CHOKe more candidates: the curve for that number is drawn too."],
        question: "With one candidate UDP's part never exceeds a quarter. At which rate is it greatest, and how many candidates bring the maximum below 15 %?",
        theory: true,
      },
    ],
  },
  {
    name: "dcn",
    title: "What DCN does for short flows",
    steps: [
      {
        title: "Short and long",
        text: [
          "700 web users, whose responses are mostly a few packets, and six long transfers, all with the hosts of the paper below, FreeBSD 4.5's, share 10 Mbit/s under Drop Tail. The long ones keep the buffer full; a response of three packets waits behind all of them, and when one of its packets is lost, a timeout of a second or more follows.",
        ],
        begin: { state: state(SHORT), speed: 3 },
      },
      {
        title: "Who has sent much lately?",
        text: [
          "DCN (Le, Aikat, Jeffay & Smith 2004) beside it. It counts the packets of flows that it samples in a score board (sb_count in the table under its sliders). A flow that reaches the threshold there is of high bandwidth and goes into a second table, with a count (pktcount) that decays; its packets alone are dropped, in proportion to how much it sends. All others pass untouched.",
          "The tables hold some tens of flows among hundreds. Compare the queue, and the drops, of the two.",
        ],
        begin: { state: state(SHORT, ["drop_tail", "dcn"]), speed: 3 },
      },
      {
        title: "Your turn",
        text: ["DCN is beside RED now. RED drops from all flows alike, so that a short response pays for a long transfer."],
        begin: { state: state(SHORT, ["red", "dcn"]), speed: 3 },
        question: "Choose colours by flow and slow down to 0.1×. Which flows lose packets under RED, and which under DCN? What happens to the tables when you lower q_ref?",
      },
    ],
  },
  {
    name: "bufferbloat",
    title: "Bufferbloat, FQ-CoDel and CAKE",
    steps: [
      {
        title: "A buffer that is too large",
        text: [
          "Four downloads and a call share a line of 10 Mbit/s with a buffer of 1000 packets, as modems have. CUBIC fills whatever buffer there is: within ten seconds the delay grows to a second, for the call as well. Few packets are lost, and yet the call is useless. That is bufferbloat.",
        ],
        begin: { state: state(BLOAT), speed: 2 },
      },
      {
        title: "CoDel looks at the wait",
        text: [
          "CoDel beside it. When packets have waited longer than target, 5 ms, for a whole interval of 100 ms, it drops one as it leaves, and the next ones ever sooner, until the wait is short again. The dashed line across the queue is target; the bars are waits.",
        ],
        begin: { state: state(BLOAT, ["drop_tail", "codel"]), speed: 2 },
      },
      {
        title: "A queue for each flow",
        text: [
          "FQ-CoDel gives each flow a queue of its own, with CoDel inside, and serves a flow that has little to send first. The call does not wait for the downloads at all: compare the packets of the call, and the delay's percentiles.",
        ],
        begin: { state: state(BLOAT, ["codel", "fq_codel"]), speed: 2 },
      },
      {
        title: "CAKE",
        text: [
          "CAKE shapes to a rate a little below the link's, so that the queue is here and not in the modem, is fair to hosts as well as flows, and knows what framing costs. It stands beside FQ-CoDel.",
        ],
        begin: { state: state(BLOAT, ["fq_codel", "cake"]), speed: 2 },
        question: "The line gets slower than CAKE's bandwidth: set the link rate to 8 Mbit/s. Which of the two keeps its delays, and why? What must CAKE's bandwidth be?",
      },
    ],
  },
];
