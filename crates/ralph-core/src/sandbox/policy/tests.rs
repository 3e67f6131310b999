use std::collections::BTreeMap;

use super::*;
use crate::agent::Setup;

/// What is there: directories end with a slash, and links say where they lead.
struct Fake {
    there: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Fake {
    fn new(paths: &[&str]) -> Self {
        let mut there = BTreeSet::new();
        let mut links = BTreeMap::new();
        for path in paths {
            let (path, leads) = path.split_once(" -> ").map_or((*path, None), |(path, to)| (path, Some(to)));
            if let Some(leads) = leads {
                links.insert(path.into(), leads.into());
            }
            there.extend(Path::new(path).ancestors().map(Path::to_owned));
        }
        Self { there, links }
    }
}

impl Files for Fake {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let linked = path.ancestors().find_map(|above| Some((above, self.links.get(above)?)));
        if let Some((link, to)) = linked {
            let rest = path.strip_prefix(link).unwrap();
            return self.real(&if rest == Path::new("") { to.clone() } else { to.join(rest) });
        }
        self.there.contains(path).then(|| path.to_owned())
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        self.there.contains(path).then_some(FileKind::Directory)
    }

    fn entries(&self, dir: &Path) -> Vec<PathBuf> {
        self.there.iter().filter(|path| path.parent() == Some(dir)).cloned().collect()
    }

    fn is_installed(&self, program: &str) -> bool {
        self.there.contains(&Path::new("/usr/bin").join(program))
    }
}

const USUAL: [&str; 22] = [
    "/home/u/w/.ralph/progress.db",
    "/home/u/w/.ralph.toml",
    "/home/u/w/.git/config",
    "/home/u/w/.git/objects",
    "/home/u/w/.claude/settings.json",
    "/home/u/.claude/settings.json",
    "/home/u/.claude/.credentials.json",
    "/home/u/.claude.json",
    "/home/u/.codex/auth.json",
    "/home/u/.ssh/id",
    "/home/u/.ssh/known_hosts",
    "/home/u/.aws/credentials",
    "/home/u/.bashrc",
    "/home/u/.cargo/registry",
    "/home/u/.cargo/bin",
    "/home/other/w",
    "/home/brew/bin",
    "/run/docker.sock",
    "/run/user/1",
    "/usr/bin/npm",
    "/tmp/bin",
    "/var/tmp",
];

struct Case {
    settings: SandboxSettings,
    git: Option<GitPlaces>,
    environment: Vec<(String, OsString)>,
    work_tree: &'static str,
    home: &'static str,
    more: Vec<&'static str>,
}

impl Default for Case {
    fn default() -> Self {
        let git = GitPlaces {
            top: "/home/u/w".into(),
            git_dir: "/home/u/w/.git".into(),
            shared_dir: "/home/u/w/.git".into(),
            ..GitPlaces::default()
        };
        let variables = [
            ("PATH", "/usr/bin:/home/brew/bin:/tmp/bin:relative"),
            ("HOME", "/home/u"),
            ("ANTHROPIC_API_KEY", "k"),
            ("OPENAI_API_KEY", "k"),
            ("GITHUB_TOKEN", "k"),
            ("TMPDIR", "/tmp"),
        ];
        Self {
            settings: SandboxSettings::default(),
            git: Some(git),
            environment: variables.map(|(name, value)| (name.to_owned(), value.into())).into(),
            work_tree: "/home/u/w",
            home: "/home/u",
            more: Vec::new(),
        }
    }
}

impl Case {
    fn policy(&self, agent: Option<(AgentKind, &str)>) -> Policy {
        let agent = agent.map(|(kind, program)| {
            let command = vec![program.to_owned()];
            kind.build(Setup { name: "a".into(), command, ..Setup::default() })
        });
        let request = Request {
            settings: &self.settings,
            subject: agent.as_ref().map_or(Subject::Gate, Subject::Agent),
            project_root: Path::new("/home/u/w"),
            work_tree: Path::new(self.work_tree),
            git: self.git.as_ref(),
            home: Some(Path::new(self.home)),
            environment: &self.environment,
            program: Path::new("/usr/bin/ralph"),
        };
        let paths: Vec<&str> = USUAL.iter().chain(&self.more).copied().collect();
        Policy::new(&request, &Fake::new(&paths))
    }
}

fn has(set: &BTreeSet<PathBuf>, paths: &[&str]) -> bool {
    let missing: Vec<&&str> = paths.iter().filter(|path| !set.contains(Path::new(path))).collect();
    if !missing.is_empty() {
        eprintln!("missing {missing:?} in {set:?}");
    }
    missing.is_empty()
}

fn has_none(set: &BTreeSet<PathBuf>, paths: &[&str]) -> bool {
    let found: Vec<&&str> = paths.iter().filter(|path| set.contains(Path::new(path))).collect();
    if !found.is_empty() {
        eprintln!("found {found:?}");
    }
    found.is_empty()
}

#[test]
fn an_agent_writes_its_work_its_state_and_caches_and_nothing_that_others_execute() {
    let policy = Case::default().policy(Some((AgentKind::Claude, "claude")));
    assert!(has(
        &policy.writable,
        &["/home/u/w", "/home/u/w/.git", "/home/u/.claude", "/home/u/.cargo/registry"]
    ));
    // npm is installed and has no cache yet.
    assert!(has(&policy.writable, &["/home/u/.npm"]) && has(&policy.make, &["/home/u/.npm"]));
    assert!(has_none(
        &policy.writable,
        &["/home/u", "/home/u/.cargo", "/home/u/.cargo/bin", "/home/u/.codex", "/"]
    ));
    assert!(has(
        &policy.read_only,
        &[
            "/home/u/w/.ralph",
            "/home/u/w/.ralph.toml",
            "/home/u/w/.git/config",
            "/home/u/w/.git/hooks",
            "/home/u/w/.claude/settings.json",
            "/home/u/.claude/settings.json",
        ]
    ));
    assert!(has(&policy.make, &["/home/u/w/.git/hooks"]));
    assert!(has(&policy.missing, &["/home/u/w/.mcp.json", "/home/u/w/.git/commondir"]));
    assert!(has(&policy.copied, &["/home/u/.claude.json"]));
}

#[test]
fn credentials_and_sockets_are_hidden_but_for_the_agents_own() {
    let case = Case::default();
    let policy = case.policy(Some((AgentKind::Claude, "claude")));
    let always = ["/home/u/.ssh", "/home/u/.aws", "/run/docker.sock", "/run/user", "/home/other"];
    assert!(has(&policy.hidden, &always) && has(&policy.hidden, &["/home/u/.codex/auth.json"]));
    // Programs are found along it.
    assert!(has_none(&policy.hidden, &["/home/brew", "/home/u/.claude/.credentials.json", "/home/u/.gnupg"]));
    let gate = case.policy(None);
    assert!(has(&gate.hidden, &always));
    assert!(has(&gate.hidden, &["/home/u/.codex/auth.json", "/home/u/.claude/.credentials.json"]));
    assert!(has_none(&gate.writable, &["/home/u/.claude"]));
    let codex = case.policy(Some((AgentKind::Codex, "codex")));
    assert!(has_none(&codex.hidden, &["/home/u/.codex/auth.json"]));
    assert!(has(&codex.hidden, &["/home/u/.claude/.credentials.json"]));
    // Nobody knows what a script starts, but its name may tell.
    let script = case.policy(Some((AgentKind::Command, "./agent.sh")));
    assert!(has_none(&script.hidden, &["/home/u/.codex/auth.json", "/home/u/.claude/.credentials.json"]));
    let named = case.policy(Some((AgentKind::Command, "/opt/codex")));
    assert!(has(&named.hidden, &["/home/u/.claude/.credentials.json"]));
    assert!(has_none(&named.hidden, &["/home/u/.codex/auth.json"]));
}

#[test]
fn settings_hide_and_show_more() {
    let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let mut case = Case::default();
    case.settings.deny_read = list(&["~/.bashrc", "secrets"]);
    case.settings.allow_read = list(&["~/.aws", "~/.ssh/known_hosts"]);
    case.settings.cache = list(&["~/.cache/x", "/opt/y"]);
    case.more = vec!["/home/u/w/secrets/a"];
    let policy = case.policy(None);
    assert!(has(&policy.hidden, &["/home/u/.bashrc", "/home/u/w/secrets", "/home/u/.ssh"]));
    assert!(has_none(&policy.hidden, &["/home/u/.aws"]));
    assert!(has(&policy.shown, &["/home/u/.ssh/known_hosts"]));
    assert!(has(&policy.writable, &["/home/u/.cache/x", "/opt/y"]));
    assert!(has(&policy.make, &["/home/u/.cache/x", "/opt/y"]));
    // A worker has files of its own.
    case.work_tree = "/home/u/trees/w1";
    case.more = vec!["/home/u/trees/w1/secrets/a"];
    assert!(has(&case.policy(None).hidden, &["/home/u/trees/w1/secrets"]));
}

#[test]
fn variables_are_passed_on_by_name_and_gates_get_no_agents_keys() {
    let mut case = Case::default();
    let names =
        |policy: Policy| -> Vec<String> { policy.environment.into_iter().map(|(name, _)| name).collect() };
    assert_eq!(names(case.policy(None)), ["PATH", "HOME"]);
    let claude = Some((AgentKind::Claude, "claude"));
    assert_eq!(names(case.policy(claude)), ["PATH", "HOME", "ANTHROPIC_API_KEY"]);
    case.settings.env = vec!["GITHUB_*".into()];
    assert_eq!(names(case.policy(claude)), ["PATH", "HOME", "ANTHROPIC_API_KEY", "GITHUB_TOKEN"]);
}

#[test]
fn what_an_agent_needs_by_its_variables_is_not_hidden() {
    let mut case = Case::default();
    case.environment.push(("CLAUDE_CODE_USE_BEDROCK".into(), "1".into()));
    assert!(has_none(&case.policy(Some((AgentKind::Claude, "claude"))).hidden, &["/home/u/.aws"]));
    assert!(has(&case.policy(None).hidden, &["/home/u/.aws"]));
}

#[test]
fn a_linked_working_tree_gets_what_a_commit_needs() {
    let mut case = Case { work_tree: "/home/u/trees/w1", ..Case::default() };
    case.git = Some(GitPlaces {
        top: "/home/u/trees/w1".into(),
        git_dir: "/home/u/w/.git/worktrees/w1".into(),
        shared_dir: "/home/u/w/.git".into(),
        ..GitPlaces::default()
    });
    case.more = vec![
        "/home/u/trees/w1/.git",
        "/home/u/w/.git/HEAD",
        "/home/u/w/.git/index",
        "/home/u/w/.git/refs",
        "/home/u/w/.git/logs",
        "/home/u/w/.git/worktrees/w1/commondir",
        "/home/u/w/.git/worktrees/w1/gitdir",
    ];
    let policy = case.policy(None);
    let own = "/home/u/w/.git/worktrees/w1";
    let written = ["/home/u/trees/w1", "/home/u/w/.git/objects", "/home/u/w/.git/refs", own];
    assert!(has(&policy.writable, &written));
    assert!(has_none(&policy.writable, &["/home/u/w", "/home/u/w/.git", "/home/u/w/.git/config"]));
    assert!(has(&policy.read_only, &["/home/u/trees/w1/.git", "/home/u/w/.git/worktrees/w1/commondir"]));
    assert!(has(&policy.partly, &["/home/u/w/.git"]));
    let protected = ["config", "worktrees", "HEAD", "index"].map(|name| format!("/home/u/w/.git/{name}"));
    assert!(has(&policy.read_only, &protected.each_ref().map(String::as_str)));
    assert!(has(&policy.missing, &["/home/u/w/.git/commondir", "/home/u/w/.git/config.worktree"]));
}

#[test]
fn no_repository_may_be_made_in_a_project_below_the_root_of_its_own() {
    let more = vec!["/home/u/w/sub/a.txt"];
    let case = Case { work_tree: "/home/u/w/sub", more, ..Case::default() };
    assert!(has(&case.policy(None).missing, &["/home/u/w/sub/.git"]));
}

#[test]
fn links_are_followed_so_that_nothing_is_protected_in_name_only() {
    let more = vec![
        "/data/gnupg/key",
        "/home/u/.gnupg -> /data/gnupg",
        "/home/u/w/real.json",
        "/home/u/w/.mcp.json -> /home/u/w/real.json",
    ];
    let case = Case { more, ..Case::default() };
    let policy = case.policy(None);
    assert!(has(&policy.hidden, &["/data/gnupg"]));
    assert!(has(&policy.read_only, &["/home/u/w/real.json"]));
    assert!(has(&policy.links, &["/home/u/w/.mcp.json"]));
}

#[test]
fn a_home_directory_that_is_the_work_tree_keeps_its_start_up_files() {
    let mut case = Case { work_tree: "/home/u", ..Case::default() };
    case.more = vec!["/home/u/.config/fish/config.fish"];
    let policy = case.policy(None);
    assert!(has(&policy.read_only, &["/home/u/.bashrc", "/home/u/.config/fish", "/home/u/.cargo/bin"]));
    assert!(has(&policy.missing, &["/home/u/.profile", "/home/u/.zshrc"]));
    assert!(has(&policy.hidden, &["/home/u/.ssh"]) && has_none(&policy.hidden, &["/home/u"]));
}

#[test]
fn what_programs_need_is_kept_below_the_directories_for_temporary_files() {
    let policy = Case::default().policy(None);
    assert!(has(&policy.kept, &["/tmp/bin"]) && has_none(&policy.kept, &["/usr/bin", "/home/u"]));
    let case = Case {
        work_tree: "/tmp/p/w",
        home: "/tmp/p/home",
        git: None,
        more: vec!["/tmp/p/w/x", "/tmp/p/home/.ssh/id"],
        ..Case::default()
    };
    let policy = case.policy(None);
    assert!(has(&policy.kept, &["/tmp/p/home"]) && has(&policy.hidden, &["/tmp/p/home/.ssh"]));
}
