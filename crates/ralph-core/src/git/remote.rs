//! A remote that several machines share: the tip of a branch there, and pushes that change branches only where these are as they
//! were seen, all of them or none.

use super::call::{Call, CallKind, Output};
use super::repository::Repository;
use super::{Git, GitError, RemoteFault};
use crate::text::{mask_secrets, one_line};

/// How often a fetch is tried again while another process of this clone writes the same reference.
const MOST_LOCKED: u32 = 50;
/// How often a landing that the server is still at is looked at.
const MOST_SETTLING: u32 = 200;
const NAP: std::time::Duration = std::time::Duration::from_millis(20);
const WHY_CHARS: usize = 300;
/// Nobody is there to answer a question.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15";

/// What a push does to one branch of the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update<'u> {
    pub branch: &'u str,
    /// The commit that it must be at; none where it must not be there.
    pub from: Option<&'u str>,
    /// None removes it.
    pub to: Option<&'u str>,
}

/// Whether a push runs the hooks of this clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushHooks {
    Run,
    /// They may run what agents wrote.
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// A branch was not as it was expected. None was changed.
    Overtaken,
}

impl Git {
    /// Whether git knows a remote of that name.
    pub fn has_remote(&self, remote: &str) -> Result<bool, GitError> {
        Ok(self.repository()?.query(&["remote", "get-url", "--", remote]).output()?.success())
    }

    /// The tip of a branch of the remote, which is here then, too; none where there is no such branch.
    pub fn fetch(&self, remote: &str, branch: &str) -> Result<Option<String>, GitError> {
        let tracking = tracking_branch(remote, branch);
        let refspec = format!("+refs/heads/{branch}:{tracking}");
        match self.fetch_as(remote, &refspec)? {
            true => self.repository()?.commit_at(&tracking),
            false => Ok(None),
        }
    }

    /// Where the branch of the remote was when this clone last saw it.
    pub fn last_seen(&self, remote: &str, branch: &str) -> Result<Option<String>, GitError> {
        self.repository()?.commit_at(&tracking_branch(remote, branch))
    }

    /// The same of any branch, without a reference here to it.
    fn fetch_object(&self, remote: &str, branch: &str) -> Result<Option<String>, GitError> {
        let full = format!("refs/heads/{branch}");
        let listed = self.ask(remote, &["ls-remote", remote, &full])?;
        let Some((commit, _)) = listed.split_once('\t') else { return Ok(None) };
        Ok(self.fetch_as(remote, &full)?.then(|| commit.to_owned()))
    }

    fn fetch_as(&self, remote: &str, refspec: &str) -> Result<bool, GitError> {
        let repository = self.repository()?;
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            "--refmap=",
            remote,
            refspec,
        ];
        for _ in 0..MOST_LOCKED {
            let output = repository.remote(remote, &words)?.output()?;
            if output.success() {
                return Ok(true);
            }
            let said = output.error_text();
            if said.contains("couldn't find remote ref") {
                return Ok(false);
            }
            if !is_locked(&said) {
                return Err(fault(&said).into());
            }
            std::thread::sleep(NAP);
        }
        Err(RemoteFault::Unreachable { why: "a reference of this clone stays locked".to_owned() }.into())
    }

    /// The branch that the remote has checked out, as its people see it, with its tip, which is here then, too; none of an
    /// empty remote.
    pub fn default_branch(&self, remote: &str) -> Result<Option<(String, String)>, GitError> {
        let listed = self.ask(remote, &["ls-remote", "--symref", remote, "HEAD"])?;
        let branch = listed
            .lines()
            .find_map(|line| line.strip_prefix("ref: refs/heads/").and_then(|rest| rest.split('\t').next()));
        let Some(branch) = branch else { return Ok(None) };
        Ok(self.fetch(remote, branch)?.map(|tip| (branch.to_owned(), tip)))
    }

    /// Asks whether the remote answers.
    pub fn check_remote(&self, remote: &str) -> Result<(), GitError> {
        self.ask(remote, &["ls-remote", "--quiet", remote, "HEAD"]).map(drop)
    }

    fn ask(&self, remote: &str, words: &[&str]) -> Result<String, GitError> {
        let output = self.repository()?.remote(remote, words)?.output()?;
        match output.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(fault(&output.error_text()).into()),
        }
    }

    /// Changes branches of the remote, all or none, each only where it is as it was seen.
    pub fn push(&self, remote: &str, updates: &[Update<'_>], hooks: PushHooks) -> Result<Pushed, GitError> {
        let words = ["push", "--porcelain", "--atomic", "--no-follow-tags", "--recurse-submodules=no"];
        // Should Ralph be killed, nobody must meet with what its push does later.
        let mut call = self.repository()?.remote(remote, &words)?.ending_with_us();
        if hooks == PushHooks::Skip {
            call = call.without_hooks();
        }
        for Update { branch, from, .. } in updates {
            call = call.arg(format!("--force-with-lease=refs/heads/{branch}:{}", from.unwrap_or_default()));
        }
        call = call.arg(remote);
        for Update { branch, to, .. } in updates {
            call = call.arg(format!("{}:refs/heads/{branch}", to.unwrap_or_default()));
        }
        let output = call.output()?;
        match output.success() {
            true => Ok(Pushed::Done),
            false => not_pushed(&output, updates),
        }
    }

    /// Whether a landing that a dead process had begun is on the branch. Where it is not, it never will be: the branch that it
    /// must remove with the same push is renamed to `kept`, so that a push that is still under way fails.
    pub fn settle_landing(
        &self,
        remote: &str,
        branch: &str,
        commit: &str,
        permit: &str,
        kept: &str,
    ) -> Result<Settled, GitError> {
        for _ in 0..MOST_SETTLING {
            // In this order: what has landed in between is seen on the branch.
            let held = self.fetch_object(remote, permit)?;
            if let Some(tip) = self.fetch(remote, branch)?
                && self.repository()?.commit_at(&format!("{commit}^{{commit}}"))?.is_some()
                && self.is_in(commit, &tip)?
            {
                return Ok(Settled::Landed);
            }
            let Some(held) = held else {
                // Another process may have done the same.
                return Ok(Settled::Never { is_kept: self.fetch_object(remote, kept)?.is_some() });
            };
            let updates = [
                Update { branch: permit, from: Some(&held), to: None },
                Update { branch: kept, from: None, to: Some(&held) },
            ];
            if self.push(remote, &updates, PushHooks::Skip)? == Pushed::Done {
                return Ok(Settled::Never { is_kept: true });
            }
            // The server holds its locks while a hook runs.
            std::thread::sleep(NAP);
        }
        Err(RemoteFault::Unreachable { why: format!("it keeps {permit} locked") }.into())
    }
}

/// What became of a landing whose process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Landed,
    Never {
        /// Whether its work is on the remote.
        is_kept: bool,
    },
}

impl Repository {
    /// A call that talks to a remote.
    fn remote(&self, remote: &str, args: &[&str]) -> Result<Call<'_>, GitError> {
        self.refuse_changed_remote(remote)?;
        let call = Call::new(self, CallKind::Remote, args).env("SSH_ASKPASS_REQUIRE", "never");
        let is_set = ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| std::env::var_os(name).is_some())
            || self.query(&["config", "--get", "core.sshCommand"]).output()?.success();
        Ok(if is_set { call } else { call.env("GIT_SSH_COMMAND", SSH) })
    }
}

fn tracking_branch(remote: &str, branch: &str) -> String {
    format!("refs/remotes/{remote}/{branch}")
}

/// Whether another process of this clone held a reference's lock.
fn is_locked(said: &str) -> bool {
    said.contains("cannot lock ref") || said.contains("unable to update local ref")
}

/// Why a push changed nothing, from what git prints for each branch.
fn not_pushed(output: &Output, updates: &[Update<'_>]) -> Result<Pushed, GitError> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    Err(match read_refusal(&stdout, &output.error_text(), updates) {
        Some(fault) => fault.into(),
        None => return Ok(Pushed::Overtaken),
    })
}

/// None where a branch was not as it was expected.
fn read_refusal(stdout: &str, stderr: &str, updates: &[Update<'_>]) -> Option<RemoteFault> {
    // FLAG TAB FROM:TO TAB SUMMARY (REASON)
    let refused = stdout.lines().filter_map(|line| {
        let (names, rest) = line.strip_prefix("!\t")?.split_once('\t')?;
        let branch = names.rsplit_once(":refs/heads/").map_or("", |(_, branch)| branch);
        let reason = rest.split_once('(').map_or(rest, |(_, reason)| reason.trim_end_matches(')'));
        Some((branch, reason))
    });
    // What failed only because another branch did says nothing.
    let refused: Vec<(&str, &str)> =
        refused.filter(|(_, reason)| !reason.starts_with("atomic push fail")).collect();
    let said = remote_words(stderr);
    let Some((branch, reason)) = refused.first() else {
        return match stderr.contains("remote ref does not exist") || is_locked(stderr) {
            true => None,
            false => Some(fault(stderr)),
        };
    };
    let why = one_line(&mask_secrets(if said.is_empty() { reason } else { &said }), WHY_CHARS);
    if reason.contains("cannot create") || stderr.contains("cannot create") {
        // A branch called `a` leaves no room for one called `a/b`.
        return Some(RemoteFault::Protected { branch: (*branch).to_owned(), why });
    }
    const MOVED: [&str; 10] = [
        "stale info",
        "fetch first",
        "non-fast-forward",
        "already exists",
        "cannot lock ref",
        "failed to update ref",
        "failed to lock",
        "incorrect old value",
        "reference is missing",
        "transaction failed",
    ];
    if refused.iter().any(|(_, reason)| MOVED.iter().any(|moved| reason.contains(moved))) {
        return None;
    }
    let both = format!("{reason} {said}").to_lowercase();
    const PROTECTED: [&str; 9] = [
        "protected branch",
        "gh006",
        "not allowed to push",
        "not allowed to create",
        "not allowed to delete",
        "deletion prohibited",
        "currently checked out",
        "hidden ref",
        "funny refname",
    ];
    if PROTECTED.iter().any(|words| both.contains(words)) {
        let branch = if branch.is_empty() { updates.first().map_or("", |one| one.branch) } else { branch };
        return Some(RemoteFault::Protected { branch: branch.to_owned(), why });
    }
    if reason.contains("unpack") {
        // Its disk or its rights.
        return Some(match both.contains("permission") {
            true => RemoteFault::Denied { why },
            false => RemoteFault::Unreachable { why },
        });
    }
    Some(RemoteFault::Refused { why })
}

/// Why a remote could not be talked to, from what git printed.
fn fault(said: &str) -> RemoteFault {
    let lower = said.to_lowercase();
    const DENIED: [&str; 13] = [
        "permission denied",
        "authentication failed",
        "could not read username",
        "could not read password",
        "terminal prompts disabled",
        "host key verification failed",
        "repository not found",
        "access denied",
        "permission to",
        "returned error: 401",
        "returned error: 403",
        "returned error: 404",
        "dubious ownership",
    ];
    if lower.contains("does not support --atomic") {
        return RemoteFault::NotAtomic;
    }
    let why = one_line(&mask_secrets(&reason(said)), WHY_CHARS);
    match DENIED.iter().any(|words| lower.contains(words)) {
        true => RemoteFault::Denied { why },
        false => RemoteFault::Unreachable { why },
    }
}

/// Of all that git says, the lines that tell why.
fn reason(said: &str) -> String {
    let words = remote_words(said);
    let own = said.lines().map(str::trim).filter(|line| {
        !line.is_empty()
            && !line.starts_with("remote:")
            && !line.starts_with("hint:")
            && !line.starts_with("Please make sure")
            && !line.starts_with("and the repository exists")
            && !line.contains("Could not read from remote repository")
    });
    let own: Vec<&str> = own.map(|line| line.strip_prefix("fatal: ").unwrap_or(line)).collect();
    match (own.is_empty(), words.is_empty()) {
        (true, true) => "git says nothing".to_owned(),
        (true, false) => words,
        (false, true) => own.join("; "),
        (false, false) => format!("{}: {words}", own.join("; ")),
    }
}

/// What the server and its hooks said.
fn remote_words(stderr: &str) -> String {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("remote:"));
    let lines: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    const SAMPLES: [(&str, &str, Option<&str>); 15] = [
        (
            "!\tabc:refs/heads/main\t[remote rejected] (failed to update ref)\n",
            "remote: error: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'\n",
            Some("protected"),
        ),
        ("!\tabc:refs/heads/main\t[rejected] (stale info)\n", "", None),
        ("!\tabc:refs/heads/main\t[rejected] (fetch first)\n", "", None),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)\n",
            "",
            None,
        ),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (incorrect old value provided)\n!\t:refs/heads/x\t[remote rejected] (atomic transaction failed)\n",
            "",
            None,
        ),
        (
            "",
            "error: unable to delete 'ralph/attempt-x': remote ref does not exist\nerror: failed to push some refs to 'u'\n",
            None,
        ),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (protected branch hook declined)\n",
            "remote: error: GH006: Protected branch update failed for refs/heads/main.\n",
            Some("protected"),
        ),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n!\t:refs/heads/x\t[remote rejected] (atomic push failure)\n",
            "remote: GitLab: You are not allowed to push code to protected branches on this project.\n",
            Some("protected"),
        ),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (branch is currently checked out)\n",
            "",
            Some("protected"),
        ),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (hook declined)\n",
            "remote: no tickets named\n",
            Some("refused"),
        ),
        (
            "!\tabc:refs/heads/main\t[remote rejected] (unpacker error)\n",
            "remote: error: unable to write file: No space left on device\n",
            Some("unreachable"),
        ),
        (
            "",
            "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
            Some("denied"),
        ),
        ("", "fatal: could not read Username for 'https://h': terminal prompts disabled\n", Some("denied")),
        (
            "",
            "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository.\n",
            Some("unreachable"),
        ),
        ("", "fatal: the receiving end does not support --atomic push\n", Some("not atomic")),
    ];

    #[test]
    fn what_a_push_prints_says_what_to_do() {
        for (stdout, stderr, expected) in SAMPLES {
            let updates = [Update { branch: "main", from: None, to: None }];
            let found = read_refusal(stdout, stderr, &updates);
            let kind = found.as_ref().map(|fault| match fault {
                RemoteFault::Protected { branch, .. } => {
                    assert_eq!(branch, "main");
                    "protected"
                }
                RemoteFault::Refused { why } => {
                    assert_eq!(why, "no tickets named");
                    "refused"
                }
                RemoteFault::Unreachable { .. } => "unreachable",
                RemoteFault::Denied { .. } => "denied",
                RemoteFault::NotAtomic => "not atomic",
                RemoteFault::Unknown(_) | RemoteFault::Changed { .. } => "other",
            });
            assert_eq!(kind, expected, "{stdout}{stderr}: {found:?}");
        }
    }

    /// A repository with a remote beside it that has its first commit.
    fn with_remote() -> (Repo, tempfile::TempDir) {
        let (repo, dir) = (Repo::with_first_commit(), tempfile::tempdir().unwrap());
        let url = dir.path().display().to_string();
        repo.git(&["init", "-q", "--bare", "-b", "main", &url]);
        repo.git(&["remote", "add", "origin", &url]);
        repo.git(&["push", "-q", "origin", "main"]);
        (repo, dir)
    }

    #[test]
    fn branches_change_together_and_only_where_they_are_as_they_were_seen() {
        let (repo, _dir) = with_remote();
        let git = repo.open();
        let first = repo.head();
        assert_eq!(git.fetch("origin", "main").unwrap(), Some(first.clone()));
        assert_eq!(git.fetch("origin", "none").unwrap(), None);
        assert_eq!(git.default_branch("origin").unwrap(), Some(("main".into(), first.clone())));
        repo.write("a.txt", "1\n");
        repo.commit_all("one");
        let one = repo.head();
        let permit = |from, to| Update { branch: "ralph/attempt-x", from, to };
        let land = |from, to| Update { branch: "main", from: Some(from), to: Some(to) };
        let push = |updates: &[Update<'_>]| git.push("origin", updates, PushHooks::Skip).unwrap();
        assert_eq!(push(&[permit(None, Some(&one))]), Pushed::Done);
        // The branch is elsewhere, or the other one is: neither changes.
        assert_eq!(push(&[land(&one, &one), permit(Some(&first), None)]), Pushed::Overtaken);
        assert_eq!(push(&[land(&first, &one), permit(Some(&first), None)]), Pushed::Overtaken);
        assert_eq!(git.fetch("origin", "main").unwrap(), Some(first.clone()));
        assert_eq!(push(&[land(&first, &one), permit(Some(&one), None)]), Pushed::Done);
        assert_eq!(git.fetch("origin", "main").unwrap(), Some(one.clone()));
        assert_eq!(git.fetch("origin", "ralph/attempt-x").unwrap(), None);
        // What had been seen to succeed is not done again.
        assert_eq!(push(&[land(&first, &one), permit(Some(&one), None)]), Pushed::Overtaken);
    }

    #[test]
    fn a_landing_that_is_settled_as_never_cannot_come_later() {
        let (repo, _dir) = with_remote();
        let git = repo.open();
        let first = repo.head();
        repo.write("a.txt", "1\n");
        repo.commit_all("one");
        let one = repo.head();
        let permit = |from, to| Update { branch: "ralph/attempt-x", from, to };
        let landing =
            [Update { branch: "main", from: Some(&first), to: Some(&one) }, permit(Some(one.as_str()), None)];
        let settle =
            || git.settle_landing("origin", "main", &one, "ralph/attempt-x", "ralph/lost-x").unwrap();
        let push = |updates: &[Update<'_>]| git.push("origin", updates, PushHooks::Skip).unwrap();
        assert_eq!(settle(), Settled::Never { is_kept: false });
        push(&[permit(None, Some(&one))]);
        assert_eq!(settle(), Settled::Never { is_kept: true });
        assert_eq!(push(&landing), Pushed::Overtaken);
        assert_eq!(git.fetch("origin", "main").unwrap(), Some(first.clone()));
        assert_eq!(git.fetch("origin", "ralph/lost-x").unwrap(), Some(one.clone()));
        push(&[permit(None, Some(&one))]);
        assert_eq!(push(&landing), Pushed::Done);
        assert_eq!(settle(), Settled::Landed);
    }

    #[test]
    fn settings_that_an_agent_changed_stop_every_push() {
        let (repo, _dir) = with_remote();
        let git = repo.open();
        git.watch_programs().unwrap();
        repo.git(&["remote", "add", "other", "/elsewhere"]);
        assert!(git.fetch("origin", "main").unwrap().is_some());
        repo.git(&["config", "remote.origin.pushurl", "/elsewhere"]);
        let refused = git.fetch("origin", "main").unwrap_err().to_string();
        assert!(refused.contains("remote.origin.pushurl"), "{refused}");
    }
}
