//! A filter of system calls, for what neither mounts nor rules for files stop.

use std::collections::BTreeMap;
use std::io;

#[cfg(target_arch = "x86_64")]
use seccompiler::sock_filter;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Calls that no build and no test needs: the kernel's keys, files by number instead of by path, programs in the kernel, a
/// second way to make any call, the machine's clock and modules.
const DENIED: [libc::c_long; 21] = [
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_syslog,
];

/// With these a process types into the terminal that Ralph runs in.
const TYPING: [libc::Ioctl; 2] = [libc::TIOCSTI, libc::TIOCLINUX];
/// The only families of sockets that stay on this machine.
const FAMILIES: [i32; 2] = [libc::AF_UNIX, libc::AF_NETLINK];

/// Calls of x32, a second way to make each call under another number, where the kernel has them.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Denies these calls to this process and to all that it starts. `sees_others`: whether it can name processes outside.
pub(super) fn filter(no_sockets: bool, sees_others: bool) -> io::Result<()> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let typing = TYPING.map(|request| all_of([condition(1, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<io::Result<_>>()?);
    if sees_others {
        // Who may set the limits of a process can end it. Zero stands for the caller itself, and for no new limit.
        let process = condition(0, SeccompCmpOp::Ne, 0_u64);
        let limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
        let of_another = all_of([process, limit.map_err(io::Error::other)])?;
        rules.insert(libc::SYS_prlimit64, vec![of_another]);
    }
    if no_sockets {
        let others = FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, family));
        rules.insert(libc::SYS_socket, vec![all_of(others)?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).map_err(io::Error::other)?;
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "other machines have no x32"))]
    let mut program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    #[cfg(target_arch = "x86_64")]
    program.splice(0..0, no_x32());
    apply_filter(&program).map_err(io::Error::other)
}

/// The beginning of a filter, which checks no numbers of this kind by itself.
#[cfg(target_arch = "x86_64")]
fn no_x32() -> [sock_filter; 3] {
    let step = |code: u32, jf, k| sock_filter { code: code as u16, jt: 0, jf, k };
    [
        // The number is the first thing that a filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ]
}

fn all_of(conditions: impl IntoIterator<Item = io::Result<SeccompCondition>>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions.into_iter().collect::<io::Result<_>>()?).map_err(io::Error::other)
}

fn condition<T: TryInto<u64>>(
    argument: u8,
    operator: SeccompCmpOp,
    value: T,
) -> io::Result<SeccompCondition> {
    let value = value.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}
