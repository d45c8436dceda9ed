//! Source NAT by a table of nftables that belongs to this process.

use std::ffi::CString;
use std::net::Ipv4Addr;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use netlink_bindings::nftables::{Chained, CmpOps, Nfgenmsg, Registers, Request, TableFlags};
use netlink_socket2::NetlinkSocket;

// From <linux/netfilter.h>.
const NFPROTO_INET: u8 = 1;
const NFPROTO_IPV4: u8 = 2;
const NF_INET_FORWARD: u32 = 2;
const NF_INET_POST_ROUTING: u32 = 4;
const NF_DROP: u32 = 0;
/// The usual priority of source NAT.
const NF_IP_PRI_NAT_SRC: i32 = 100;
/// Where the source address is in an IPv4 header.
const SOURCE_OFFSET: u32 = 12;
/// What offsets count from: the network header.
const NFT_PAYLOAD_NETWORK_HEADER: u32 = 1;
const NFNL_SUBSYS_NFTABLES: u16 = 10;

/// Replaces the source address of packets from one host by that of the device they leave by.
///
/// The kernel removes the table when its owner, the socket held here, is closed, even if this process is killed.
pub struct Nat {
    _socket: NetlinkSocket,
}

impl Nat {
    /// Makes the table in the network namespace of the calling thread.
    pub fn new(address: Ipv4Addr) -> Result<Nat, String> {
        let mut socket = NetlinkSocket::new();
        add_table(&mut socket, address).map_err(|error| {
            format!(
                "cannot make a table for NAT (this needs CAP_NET_ADMIN and nftables in Linux 5.12 or later): {error}"
            )
        })?;
        Ok(Nat { _socket: socket })
    }
}

fn add_table(socket: &mut NetlinkSocket, address: Ipv4Addr) -> Result<(), String> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("sluicegate-{}-{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let table = CString::new(name).map_err(|e| e.to_string())?;
    let chain = c"postrouting";

    let header = Nfgenmsg { nfgen_family: NFPROTO_IPV4, ..Default::default() };
    let mut batch_header = Nfgenmsg::new();
    batch_header.set_res_id(NFNL_SUBSYS_NFTABLES);
    let mut batch = Chained::new(socket.reserve_seq(5));
    batch.request().op_batch_begin_do(&batch_header).encode();
    let request = batch.request().set_create().set_excl();
    request.op_newtable_do(&header).encode().push_name(&table).push_flags(TableFlags::Owner as u32);
    let mut request = batch.request().set_create().op_newchain_do(&header);
    let encoder = request.encode().push_table(&table).push_name(chain).push_type(c"nat");
    encoder.nested_hook().push_num(NF_INET_POST_ROUTING).push_priority(NF_IP_PRI_NAT_SRC).end_nested();
    drop(request);
    // ip saddr ADDRESS masquerade
    let mut request = batch.request().set_create().set_append().op_newrule_do(&header);
    let expressions = request.encode().push_table(&table).push_chain(chain).nested_expressions();
    let source = expressions.nested_elem().nested_data_payload().push_dreg(Registers::Reg1 as u32);
    let source = source.push_base(NFT_PAYLOAD_NETWORK_HEADER).push_offset(SOURCE_OFFSET).push_len(4);
    let equal = source.end_nested().end_nested().nested_elem().nested_data_cmp().push_sreg(Registers::Reg1 as u32);
    let equal = equal.push_op(CmpOps::Eq as u32).nested_data().push_value(&address.octets()).end_nested();
    equal.end_nested().end_nested().nested_elem().push_name(c"masq").end_nested().end_nested();
    drop(request);
    batch.request().op_batch_end_do(&batch_header);
    socket.request_chained(&batch.finalize()).map_err(|e| e.to_string())?.recv_all().map_err(|e| e.to_string())
}

/// Table and chain of another program that probably drops forwarded packets: its policy is drop, like Docker's, or it
/// is firewalld's, whose last rule rejects. Chains of iptables-legacy are not visible here.
pub fn foreign_drop() -> Option<String> {
    let mut socket = NetlinkSocket::new();
    [NFPROTO_IPV4, NFPROTO_INET].into_iter().find_map(|family| {
        let request = Request::new().op_getchain_dump(&Nfgenmsg { nfgen_family: family, ..Default::default() });
        let mut chains = socket.request(&request).ok()?;
        while let Some(Ok((_, chain))) = chains.recv() {
            let (Ok(hook), Ok(table), Ok(name)) = (chain.get_hook(), chain.get_table(), chain.get_name()) else {
                continue;
            };
            let drops = chain.get_policy().is_ok_and(|policy| policy == NF_DROP) || table == c"firewalld";
            if drops && hook.get_num().is_ok_and(|hook| hook == NF_INET_FORWARD) {
                return Some(format!("{} {}", table.to_string_lossy(), name.to_string_lossy()));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::world::tests::isolated;

    fn nft(command: &str) -> Option<String> {
        let output = Command::new("nft").arg(command).output().ok()?;
        assert!(output.status.success(), "{output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn tables_last_as_long_as_their_owner() {
        isolated(|| {
            let nat = Nat::new(Ipv4Addr::new(100, 64, 0, 1)).unwrap();
            let other = Nat::new(Ipv4Addr::new(100, 64, 0, 5)).unwrap();
            let Some(rules) = nft("list ruleset") else { return println!("skipped: nft is not installed") };
            assert!(rules.contains("ip saddr 100.64.0.1 masquerade"), "{rules}");
            drop(nat);
            let rules = nft("list ruleset").unwrap();
            assert!(!rules.contains("100.64.0.1 ") && rules.contains("100.64.0.5 "), "{rules}");
            drop(other);
            assert_eq!(nft("list ruleset").unwrap(), "");
        });
    }

    #[test]
    fn chains_that_drop_are_found() {
        isolated(|| {
            assert_eq!(foreign_drop(), None);
            let made = nft(
                "add table inet other; add chain inet other input { type filter hook input priority 0; policy drop; }",
            );
            let Some(_) = made else { return println!("skipped: nft is not installed") };
            let _nat = Nat::new(Ipv4Addr::new(100, 64, 0, 1)).unwrap();
            assert_eq!(foreign_drop(), None);
            nft("add chain inet other forward { type filter hook forward priority 0; policy drop; }");
            assert_eq!(foreign_drop().unwrap(), "other forward");
        });
    }
}
