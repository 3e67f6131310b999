//! A filter of system calls, for what neither mounts nor rules for files stop.

use std::collections::BTreeMap;
use std::io;

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
/// The families of sockets that lead out of this machine, or to the machine around it.
const FAMILIES: [i32; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_PACKET, libc::AF_VSOCK];

/// Denies these calls to this process and to all that it starts. `sees_others`: whether it can name processes outside.
pub(super) fn filter(no_sockets: bool, sees_others: bool) -> io::Result<()> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    if sees_others {
        // Who may set the limits of a process can end it. Zero stands for the caller itself, and for no new limit.
        let given = |argument, length| {
            SeccompCondition::new(argument, length, SeccompCmpOp::Ne, 0).map_err(io::Error::other)
        };
        let (process, limit) = (given(0, SeccompCmpArgLen::Dword)?, given(2, SeccompCmpArgLen::Qword)?);
        let of_another = SeccompRule::new(vec![process, limit]).map_err(io::Error::other)?;
        rules.insert(libc::SYS_prlimit64, vec![of_another]);
    }
    rules.insert(libc::SYS_ioctl, any_of(1, TYPING)?);
    if no_sockets {
        rules.insert(libc::SYS_socket, any_of(0, FAMILIES.map(i64::from))?);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn any_of<T: TryInto<u64>>(
    argument: u8,
    values: impl IntoIterator<Item = T>,
) -> io::Result<Vec<SeccompRule>> {
    let rule = |value: T| {
        let value = value.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
        let (length, equal) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
        let is_it = SeccompCondition::new(argument, length, equal, value).map_err(io::Error::other)?;
        SeccompRule::new(vec![is_it]).map_err(io::Error::other)
    };
    values.into_iter().map(rule).collect()
}
