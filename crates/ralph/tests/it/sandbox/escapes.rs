//! Ways out of the sandbox, each tried from an agent and from a gate, on real files and processes outside.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};

use super::{BACKENDS, commit, confined, raw_logs};
use crate::support::{Project, eventually, processes_with};

/// What stands in every file that must not be read.
const SECRET: &str = "s3cr3t-of-a-person";
/// How long the processes sleep that an escape starts: no other process on this machine does.
const NAP: &str = "86399.25";

#[derive(Clone, Copy, PartialEq)]
enum Stops {
    Both,
    /// What Landlock cannot stop, as docs/sandbox.md says.
    Bubblewrap,
}
use Stops::{Both, Bubblewrap};

/// Each prints ESCAPED where it got out. `$OUT` is a directory outside that may be read, `$ROOT` the project, `$RALPH_PID` the
/// run's own process, `$RALPH_CANARY` a process of the user's, `$RALPH_PROGRAM` Ralph.
const ESCAPES: &[(&str, Stops, &str)] = &[
    ("write outside", Both, "echo x > $OUT/file && echo ESCAPED"),
    ("make a file outside", Both, "echo x > $OUT/new && echo ESCAPED"),
    ("make a directory outside", Both, "mkdir $OUT/dir && echo ESCAPED"),
    ("write in the home directory", Both, "echo x > $HOME/.bashrc && echo ESCAPED"),
    ("make a start-up file", Both, "echo x > $HOME/.zshenv && echo ESCAPED"),
    ("through a symbolic link", Both, "ln -s $OUT/file l1 && echo x > l1 && echo ESCAPED"),
    ("through a link to a directory", Both, "ln -s $OUT l2 && echo x > l2/new2 && echo ESCAPED"),
    ("through a hard link", Both, "ln $OUT/file l3 && echo x > l3 && echo ESCAPED"),
    ("rename over a file", Both, "echo x > l4 && mv -f l4 $OUT/file && echo ESCAPED"),
    ("take a file away", Both, "mv $OUT/file l5 && echo ESCAPED"),
    ("delete a file", Both, "rm -f $OUT/file && echo ESCAPED"),
    ("truncate a file", Both, "truncate -s 0 $OUT/file && echo ESCAPED"),
    ("change its rights", Bubblewrap, "chmod 777 $OUT/file && echo ESCAPED"),
    ("change its times", Bubblewrap, "touch -d 2001-01-01 $OUT/file && echo ESCAPED"),
    (
        "bind it elsewhere",
        Both,
        "mkdir -p m && unshare -Urm sh -c 'mount --bind $OUT m && echo x > m/bound' && echo ESCAPED",
    ),
    (
        "mount it anew",
        Both,
        "unshare -Urm sh -c 'mount -o remount,bind,rw $OUT; echo x > $OUT/remounted' && echo ESCAPED",
    ),
    ("mount all anew", Both, "mount -o remount,bind,rw / && echo x > $OUT/remounted2 && echo ESCAPED"),
    (
        "take a mount away",
        Both,
        "unshare -Urm sh -c 'umount -l $HOME/.ssh; cat $HOME/.ssh/id' | grep s3cr3t && echo ESCAPED",
    ),
    ("another root", Both, "for p in /proc/[0-9]*; do echo x > $p/root$OUT/by-root && echo ESCAPED; done"),
    (
        "read by another root",
        Both,
        "for p in /proc/[0-9]*; do grep s3cr3t $p/root$HOME/.ssh/id && echo ESCAPED; done",
    ),
    (
        "read by another directory",
        Both,
        "for p in /proc/[0-9]*; do grep s3cr3t $p/cwd/../home/.ssh/id && echo ESCAPED; done",
    ),
    (
        "another's memory",
        Both,
        "head -c 1 /proc/$RALPH_PID/mem && echo ESCAPED; head -c 1 /proc/$RALPH_CANARY/mem && echo ESCAPED",
    ),
    (
        "another's variables",
        Both,
        "cat /proc/$RALPH_PID/environ /proc/$RALPH_CANARY/environ | grep -a s3cr3t && echo ESCAPED",
    ),
    ("own variables", Both, "env | grep s3cr3t && echo ESCAPED"),
    (
        "a debugger",
        Both,
        "python3 -c 'import ctypes,os; l=ctypes.CDLL(None,use_errno=True); r=l.ptrace(16,int(os.environ[\"RALPH_CANARY\"]),0,0); print(\"ESCAPED\" if r==0 else ctypes.get_errno())'",
    ),
    (
        "open descriptors",
        Both,
        "for f in 7 8 9; do grep s3cr3t <&$f && echo ESCAPED; echo x >&$f && echo ESCAPED; done",
    ),
    (
        "files by number",
        Both,
        "python3 -c 'import ctypes; l=ctypes.CDLL(None,use_errno=True); b=ctypes.create_string_buffer(136); r=l.syscall(304,3,b,0); e=ctypes.get_errno(); print(e if e==1 else \"ESCAPED\")'",
    ),
    ("a device", Both, "mknod disk b 254 0 && head -c 1 disk && echo ESCAPED"),
    (
        "settings of the kernel",
        Both,
        "v=$(cat /proc/sys/kernel/core_pattern); echo \"$v\" > /proc/sys/kernel/core_pattern && echo ESCAPED",
    ),
    (
        "kernel keys",
        Both,
        "python3 -c 'import ctypes; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(248,b\"user\",b\"x\",b\"y\",1,-3); print(\"ESCAPED\" if r>=0 else ctypes.get_errno())'",
    ),
    (
        "calls under other numbers",
        Both,
        "python3 -c 'import ctypes,platform; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(0x40000000+39); e=ctypes.get_errno(); print(\"ESCAPED\" if platform.machine()==\"x86_64\" and e!=1 else e)'",
    ),
    ("the database", Both, "echo x >> $ROOT/.ralph/progress.db && echo ESCAPED"),
    (
        "the database replaced",
        Both,
        "rm -f $ROOT/.ralph/progress.db && echo ESCAPED; mv $ROOT/.ralph $ROOT/.r && echo ESCAPED",
    ),
    (
        "the settings",
        Both,
        "echo x >> $ROOT/.ralph.toml && echo ESCAPED; rm -f $ROOT/.ralph.toml && echo ESCAPED",
    ),
    ("templates", Both, "mkdir -p $ROOT/.ralph/templates && echo ESCAPED"),
    ("hooks of git", Both, "echo 'touch $OUT/hook' > $ROOT/.git/hooks/pre-commit && echo ESCAPED"),
    ("another directory of hooks", Both, "git config core.hooksPath $PWD && echo ESCAPED"),
    ("a program of git", Both, "git config core.fsmonitor 'touch $OUT/fsmonitor' && echo ESCAPED"),
    (
        "a program of git by hand",
        Both,
        "printf '[core]\\nfsmonitor = touch %s/fsm2\\n' $OUT >> $(git rev-parse --git-common-dir)/config && echo ESCAPED",
    ),
    ("git's directory replaced", Both, "mv $ROOT/.git $ROOT/.git2 && echo ESCAPED"),
    // Ralph's own git must not follow this; nothing says ESCAPED here, the file that it would make does.
    (
        "git led elsewhere",
        Both,
        "d=$(git rev-parse --absolute-git-dir); c=$(cd \"$(git rev-parse --git-common-dir)\" && pwd); for t in $d $c; do \
         e=$d/evil; mkdir -p $e; cp -r $c/HEAD $c/refs $c/objects $c/config $e; \
         printf '[core]\\nfsmonitor = touch %s/led\\n' $OUT >> $e/config; echo $e > $t/commondir; done",
    ),
    ("settings of agents", Bubblewrap, "echo '{}' > $HOME/.claude/settings.json && echo ESCAPED"),
    ("ssh keys", Both, "grep s3cr3t $HOME/.ssh/id && echo ESCAPED"),
    ("cloud keys", Both, "grep -r s3cr3t $HOME/.aws $HOME/.kube $HOME/.gnupg $HOME/.azure && echo ESCAPED"),
    (
        "tokens",
        Both,
        "grep -r s3cr3t $HOME/.config/gh $HOME/.netrc $HOME/.docker/config.json $HOME/.git-credentials && echo ESCAPED",
    ),
    (
        "browsers and keyrings",
        Both,
        "grep -r s3cr3t $HOME/.mozilla $HOME/.config/google-chrome $HOME/.local/share/keyrings && echo ESCAPED",
    ),
    ("what the settings hide", Both, "grep s3cr3t $HOME/own-secret && echo ESCAPED"),
    ("a process in a session of its own", Both, "setsid sleep 86399.25 >/dev/null 2>&1 &"),
    ("a process without a parent", Both, "sh -c '(sleep 86399.25 >/dev/null 2>&1 &) &' &"),
    ("a process without variables", Both, "env -i setsid sh -c 'sleep 86399.25 >/dev/null 2>&1 &' &"),
    (
        "end another process",
        Both,
        "kill -0 $RALPH_CANARY && echo ESCAPED; kill $RALPH_CANARY && echo ESCAPED",
    ),
    ("limits of another process", Both, "prlimit --pid $RALPH_CANARY --cpu=1:1 && echo ESCAPED"),
    ("stop Ralph", Both, "kill -0 $RALPH_PID && echo ESCAPED"),
    (
        "stop the guard",
        Both,
        "for p in $(cat /proc/$RALPH_PID/task/*/children 2>/dev/null); do kill -0 $p && echo ESCAPED; done",
    ),
    (
        "an agent of keys",
        Bubblewrap,
        "python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(os.environ[\"HOME\"]+\"/agent.sock\"); print(\"ESCAPED\")'",
    ),
    (
        "a socket without a file",
        Both,
        "python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(\"\\0\"+os.environ[\"RALPH_ABSTRACT\"]); print(\"ESCAPED\")'",
    ),
    (
        "Ralph itself",
        Both,
        "cd $ROOT; $RALPH_PROGRAM task add evil && echo ESCAPED; env -i HOME=$HOME PATH=$PATH $RALPH_PROGRAM task add evil && echo ESCAPED",
    ),
    ("a run of Ralph", Both, "cd $ROOT; env -i HOME=$HOME PATH=$PATH $RALPH_PROGRAM run && echo ESCAPED"),
    (
        "Ralph from elsewhere",
        Both,
        "cd /; env -i HOME=$HOME PATH=$PATH $RALPH_PROGRAM -C $ROOT config set run.agent evil && echo ESCAPED",
    ),
];

/// A script that tries all of them and prints those that got out; it fails where one did.
fn script(backend: &str) -> String {
    let mut script = "OUT=$HOME/outside; ROOT=$RALPH_PROJECT; RALPH_PID=${RALPH_HOLDER%%@*}\n\
                      export OUT ROOT RALPH_PID; bad=0; mkdir -p tried; cd tried\n"
        .to_owned();
    for (number, (name, stops, snippet)) in ESCAPES.iter().enumerate() {
        if *stops == Both || backend == "bubblewrap" {
            script.push_str(&format!(
                "cat > e{number}.sh <<'EOS'\n{snippet}\nEOS\n\
                 said=$(timeout 20 sh e{number}.sh 2>&1)\n\
                 case \"$said\" in *ESCAPED*) echo \"ESCAPED: {name}: $said\"; bad=1;; esac\n"
            ));
        }
    }
    script.push_str("cd ..; rm -rf tried; echo \"tried all\"; exit $bad\n");
    script
}

struct Outside {
    canary: Child,
    _sockets: [UnixListener; 2],
    before: String,
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.canary.kill();
        let _ = self.canary.wait();
    }
}

impl Outside {
    /// Everything that must be left alone.
    fn new(project: &mut Project, backend: &str) -> Self {
        for path in [
            "outside/file",
            ".bashrc",
            ".ssh/id",
            ".aws/credentials",
            ".kube/config",
            ".gnupg/key",
            ".azure/x",
            ".config/gh/hosts.yml",
            ".netrc",
            ".docker/config.json",
            ".git-credentials",
            ".mozilla/x",
            ".config/google-chrome/x",
            ".local/share/keyrings/x",
            ".claude/settings.json",
            "own-secret",
        ] {
            project.write(&format!("../home/{path}"), SECRET);
        }
        let canary = Command::new("sleep").arg("86000").env("TOKEN", SECRET).spawn().unwrap();
        let home = project.path("../home").canonicalize().unwrap();
        let socket = home.join("agent.sock");
        let name = format!("ralph-abstract-{}-{backend}", std::process::id());
        let sockets = [
            UnixListener::bind(&socket).unwrap(),
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
        ];
        for (variable, value) in [
            ("RALPH_CANARY", canary.id().to_string()),
            ("RALPH_ABSTRACT", name),
            ("SSH_AUTH_SOCK", socket.display().to_string()),
            ("RALPH_PROGRAM", env!("CARGO_BIN_EXE_ralph").to_owned()),
            ("GITHUB_TOKEN", SECRET.to_owned()),
            ("MY_VARIABLE", SECRET.to_owned()),
            ("RALPH_SET_NOTIFY_WEBHOOK_SECRET", SECRET.to_owned()),
        ] {
            project.set_env(variable, &value);
        }
        project.set("sandbox", "deny_read = [\"~/own-secret\"]");
        Self { canary, _sockets: sockets, before: Self::look(project) }
    }

    /// What is outside, as text that can be compared.
    fn look(project: &Project) -> String {
        let script = "cd ../home && find outside .bashrc .ssh .aws .claude/settings.json -type f | sort | xargs sha256sum; \
                      ls -a . outside; cd ../work; cat .ralph.toml .git/config; ls -A .git/hooks; ls -a";
        let mut command = Command::new("sh");
        project.clean(&mut command).args(["-c", script]).current_dir(project.root());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    fn expect_unharmed(mut self, project: &Project, name: &str) {
        let hidden = |text: &str| -> Vec<String> {
            // Made by runs: caches, the report of the attempt, the directory of hooks.
            let own = [
                ".cache", ".cargo", ".npm", ".m2", ".local", "go", ".config", "agent.sh", ".codex", ".gemini",
            ];
            text.lines().filter(|line| !own.contains(line)).map(str::to_owned).collect()
        };
        assert_eq!(hidden(&Self::look(project)), hidden(&self.before), "{name}");
        assert!(self.canary.try_wait().unwrap().is_none(), "{name}: a process of the user's was ended");
        assert_eq!(project.json(&["task", "list", "--json"]).as_array().unwrap().len(), 1, "{name}");
        eventually("no process is left", || processes_with(&format!("sleep\0{NAP}")).is_empty());
    }
}

#[test]
fn nothing_gets_out_of_the_sandbox_of_an_agent_or_a_gate() {
    for backend in BACKENDS {
        let mut project = confined(backend);
        // As agent, and as gate: the same script decides.
        project.write("escapes.sh", &script(backend));
        project.agent(
            "if sh escapes.sh > $TMPDIR/said 2>&1; then echo \"<task-done>$RALPH_TASK_ID</task-done>\"; \
                       else cat $TMPDIR/said; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; fi",
        );
        project.configure("");
        let text = project.read("agent.sh").replacen(
            "cat > \"$RALPH_PROJECT/.ralph/last-prompt\"",
            "cat > /dev/null",
            1,
        );
        project.write("agent.sh", &text);
        project.write(".gitignore", "");
        project.add(&["Work", "--verify", "sh escapes.sh"]);
        fs::create_dir_all(project.path(".git/hooks")).unwrap();
        let mut outside = Outside::new(&mut project, backend);
        commit(&project);
        outside.before = Outside::look(&project);
        let command = project.command(&["run", "--once"]);
        // Descriptors that somebody forgot to close.
        let file =
            fs::File::options().read(true).write(true).open(project.path("../home/outside/file")).unwrap();
        let leaking = "exec 7<&0 8<&0 9<&0; exec \"$0\" \"$@\"";
        let program = command.get_program().to_owned();
        let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let mut command = Command::new("sh");
        project.clean(&mut command).args(["-c", leaking]).arg(program).args(args).current_dir(project.root());
        let output = command.stdin(Stdio::from(file)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!project.history().is_empty(), "{backend}: {output:?}");
        let log = raw_logs(&project);
        let attempt = &project.history()[0];
        assert_eq!(attempt["sandbox"]["backend"], backend, "{said}");
        assert_eq!(attempt["outcome"], "done", "{backend}: {said}\n{log}\n{}", attempt["gate_output"]);
        assert!(attempt["gate_output"].as_str().unwrap().contains("tried all"), "{attempt}");
        outside.expect_unharmed(&project, backend);
    }
}
