//! Which names a branch can have, by git's own rules and without asking it.

/// Characters that git keeps for ranges, patterns and the like.
const SPECIAL: [char; 8] = [' ', '~', '^', ':', '?', '*', '[', '\\'];

/// Whether a branch can have that name and is then meant by it: `@` and `HEAD` mean the commit that is checked out.
pub(super) fn is_branch_name(name: &str) -> bool {
    let is_kept = |c: char| c.is_ascii_control() || SPECIAL.contains(&c);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !["@", "HEAD"].contains(&name)
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_kept)
        && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::git::call::Call;
    use crate::git::testing::Repo;

    /// What git itself thinks of a name.
    fn git_takes(repo: &Repo, name: &str) -> bool {
        let asked = Call::new(repo.root(), &["check-ref-format", "--branch", name]).line();
        asked.is_ok_and(|spelt| spelt == name)
    }

    #[test]
    fn names_are_judged_as_git_does() {
        let repo = Repo::with_first_commit();
        for name in [
            "main",
            "ralph/work",
            "a.b",
            "a@b",
            "a{b",
            "@x",
            "x@",
            "日本",
            "a/HEAD",
            "a.lockx",
            "a-",
            "é.x",
        ] {
            assert!(is_branch_name(name), "{name:?}");
            assert!(git_takes(&repo, name), "git refuses {name:?}");
        }
        for name in [
            "", "-x", "a b", "a..b", "@{-1}", "a@{b", "x.lock", "x.lock/y", "HEAD", "a\nb",
            "--help", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a~b", "a^", "a:b", "a?", "a*",
            "a[b", "a\\b", "a\u{7f}",
        ] {
            assert!(!is_branch_name(name), "{name:?}");
            assert!(!git_takes(&repo, name), "git takes {name:?}");
        }
        // Git would make it, and every command after it would mean HEAD.
        assert!(!is_branch_name("@"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn odd_names_are_judged_as_git_does(name in "[a@{}./~:HEADlock-]{1,8}") {
            let repo = Repo::new();
            prop_assume!(name != "@");
            prop_assert_eq!(is_branch_name(&name), git_takes(&repo, &name), "{}", name);
        }
    }
}
