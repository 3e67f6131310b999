//! Ralph's own git, which nothing confines: what an attempt leaves in the work tree leads it nowhere.

use super::{BACKENDS, agent, confined};
use crate::run::DONE;

/// Makes a repository in the directory whose filter would leave a trace outside.
const EVIL: &str = "evil() { git init -q $1; echo '* filter=evil' > $1/.gitattributes; echo x > $1/f; \
     git -C $1 add .; git -C $1 -c user.name=a -c user.email=a@localhost commit -qm one; \
     git -C $1 config filter.evil.clean \"touch $OUT/$1; cat\"; sleep 0.1; echo changed > $1/f; }; \
     OUT=$HOME/outside";

/// Each leaves something for git to find after the attempt.
const LEADS: &[(&str, &str)] = &[
    ("a repository recorded as a submodule", "evil n; git add n; git commit -qm link; echo more > n/f"),
    (
        "the way to git's directory",
        "evil l; if test -f .git || test -f ../.git; then p=$(git rev-parse --show-toplevel); \
         rm -f $p/.git; echo \"gitdir: $PWD/l/.git\" > $p/.git; mv l/.gitattributes $p; fi",
    ),
];

#[test]
fn what_an_attempt_leaves_in_the_work_tree_leads_ralphs_git_nowhere() {
    for backend in BACKENDS {
        for (name, lead) in LEADS {
            let project = confined(backend);
            project.write("../home/outside/file", "");
            agent(&project, &format!("{EVIL}; ({lead}) >&2; echo work > made.txt; {DONE}"));
            project.add(&["A"]);
            let shown = project.ralph(&["run", "--once"]);
            assert_eq!(project.history()[0]["sandbox"]["backend"], backend, "{shown:?}");
            project.ralph(&["status"]);
            project.ralph(&["doctor"]);
            let outside = std::fs::read_dir(project.path("../home/outside")).unwrap().flatten();
            // The agent itself cannot have made it.
            let traces: Vec<_> =
                outside.map(|entry| entry.file_name()).filter(|name| name != "file").collect();
            assert!(traces.is_empty(), "{backend}, {name}: {traces:?} {shown:?}");
        }
    }
}
