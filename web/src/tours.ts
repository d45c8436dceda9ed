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
        title: "A queue that is always full",
        text: [
          "24 transfers of TCP (ns-2's NewReno) share 10 Mbit/s. The queue is Drop Tail: it accepts arrivals until it has 100 packets, and then drops them. Every packet waits behind an almost full buffer, and drops come in bursts, to any flow that sends at that moment.",
          "Slow the run down with the slider to see single packets; the bar above a packet shows how long it has waited.",
        ],
        begin: { state: state(RED), speed: 2 },
      },
      {
        title: "An average and two thresholds",
        text: [
          "The second queue is RED (Floyd & Jacobson 1993), on the same traffic. It keeps a moving average of the queue, the red line, so that the queue itself can absorb bursts. Below min_th it drops nothing. Between the thresholds it drops an arrival with a probability that grows with the average, up to max_p. Above max_th it drops all arrivals.",
          "Drops are early and spread out. Compare the delays in the two charts: the link is equally busy, and packets wait much less.",
        ],
        begin: { state: state(RED, ["drop_tail", "red"]), speed: 2 },
      },
      {
        title: "How fast the average follows",
        text: [
          "w_q is the weight of the current queue in the average. At 0.002 the average needs hundreds of arrivals to follow, so a burst can pass. Now w_q is 0.2: see how the average follows the queue, and look at the drops.",
        ],
        set: [[1, "queue.red.w_q", "0.2"]],
      },
      {
        title: "Your turn",
        text: [
          "w_q is back at 0.002. RED's thresholds and max_p have to fit the traffic. This is the main criticism of RED, and the problem that Adaptive RED, PIE and CoDel try to solve.",
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
          "32 transfers of TCP (ns-2's Reno) and one UDP source share 1 Mbit/s. UDP always sends 2 Mbit/s, even when packets are dropped. Under Drop Tail, and under RED beside it, TCP slows down and UDP takes nearly all of the link: both lose packets, but only TCP reacts.",
        ],
        begin: { state: state(UNRESPONSIVE, ["drop_tail", "red"]), speed: 10 },
      },
      {
        title: "The queue shows which flow it is",
        text: [
          "The second queue is CHOKe (Pan & Prabhakar 1999). For each arrival it draws one packet of the queue at random. If both belong to the same flow, it drops both. A flow that fills the queue is often hit; a flow with few packets in it rarely is. CHOKe needs no table of flows.",
          "Slow down to 0.05× and watch: framed packets have been compared with an arrival, and pairs of one colour fall out together.",
        ],
        begin: { state: state(UNRESPONSIVE, ["red", "choke"]), speed: 10 },
      },
      {
        title: "The theory beside the measurement",
        text: [
          "The network of Understanding CHOKe (Tang, Wang & Low 2004): 32 transfers, 1 Mbit/s, a round trip of 100 ms. The curve is UDP's share of the throughput in the model of that paper. Each dot is this run's measurement at UDP's current rate, after the queue has settled.",
          "UDP's share has a maximum of about a quarter. Beyond it, the more UDP sends, the less it gets: many of its packets are at the tail of the queue and few at the head, because they are dropped on the way.",
        ],
        begin: { state: state(CHOKE2004.replace('duration = "300 s"', 'duration = "20000 s"'), [null], { "flows.1.rate": "1 Mbit/s" }), speed: 60 },
        theory: true,
      },
      {
        title: "Your turn",
        text: ["Set several rates of UDP, and wait for a dot at each. Then give CHOKe more candidates: the page also draws the curve for that number."],
        question: "With one candidate UDP's share hardly exceeds a quarter. At which rate is it largest, and how many candidates bring the maximum below 15 %?",
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
          "700 web users and six long transfers share 10 Mbit/s under Drop Tail. Most responses are a few packets; all hosts are FreeBSD 4.5's, as in the paper of the next step. The long transfers keep the buffer full. A response of three packets waits behind them, and if one of its packets is lost, a timeout of a second or more follows.",
        ],
        begin: { state: state(SHORT), speed: 3 },
      },
      {
        title: "Which flows have sent much lately?",
        text: [
          "The second queue is DCN (Le, Aikat, Jeffay & Smith 2004). It counts packets of flows in a scoreboard (sb_count in the table under its sliders). A flow that reaches the threshold there has high bandwidth and moves to a second table, with a count (pktcount) that decays. DCN drops only packets of these flows, in proportion to what they send. All other packets pass.",
          "The tables have some tens of flows among hundreds. Compare the queues and the drops of the two.",
        ],
        begin: { state: state(SHORT, ["drop_tail", "dcn"]), speed: 3 },
      },
      {
        title: "Your turn",
        text: ["The first queue is RED now. RED drops packets of all flows alike, so short responses suffer from long transfers."],
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
          "Four downloads and a call share a line of 10 Mbit/s with a buffer of 1000 packets, as modems have. CUBIC fills any buffer: within ten seconds the delay grows to a second, also for the call. Few packets are lost, but the call is useless. This is bufferbloat.",
        ],
        begin: { state: state(BLOAT), speed: 2 },
      },
      {
        title: "CoDel measures the delay",
        text: [
          "The second queue is CoDel. When packets have waited longer than the target, 5 ms, for a whole interval of 100 ms, it drops a packet at the head. It drops the next ones at shorter and shorter intervals, until the delay is below the target. The dashed line across the queue is the target; the bars are the waiting times.",
        ],
        begin: { state: state(BLOAT, ["drop_tail", "codel"]), speed: 2 },
      },
      {
        title: "A queue for each flow",
        text: [
          "FQ-CoDel gives each flow its own queue, with CoDel inside, and serves flows with little to send first. The call does not wait for the downloads: compare the packets of the call, and the percentiles of the delay.",
        ],
        begin: { state: state(BLOAT, ["codel", "fq_codel"]), speed: 2 },
      },
      {
        title: "CAKE",
        text: [
          "The second queue is CAKE. It shapes to a rate a little below the link's, so that the queue is here and not in the modem. It is fair among hosts as well as flows, and counts framing.",
        ],
        begin: { state: state(BLOAT, ["fq_codel", "cake"]), speed: 2 },
        question: "Make the line slower than CAKE's bandwidth: set the link rate to 8 Mbit/s. Which of the two keeps its delay short, and why? Which bandwidth does CAKE need?",
      },
    ],
  },
];
