//! A fault of Toolcrib itself: told in one sentence instead of a stack of internals.

use std::any::Any;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::veil::cover;

/// Runs the program; a panic anywhere in it is one sentence on standard error, and one that reaches
/// this far gives `None`.
pub(crate) fn guard<T>(program: impl FnOnce() -> T) -> Option<T> {
    panic::set_hook(Box::new(|info| {
        let _ = std::io::stderr().write_all(sentence(info).as_bytes());
    }));
    panic::catch_unwind(AssertUnwindSafe(program)).ok()
}

fn sentence(info: &PanicHookInfo<'_>) -> String {
    let place = info
        .location()
        .map(|place| format!(" at {}:{}", place.file(), place.line()))
        .unwrap_or_default();
    let reason = cover(&reason(info.payload()).replace('\n', " "));
    format!(
        "toolcrib: internal error{place} ({reason}); this is a bug, please report it with the command you ran\n"
    )
}

fn reason(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Set in the child that panics: the hook is the whole process's.
    const CHILD: &str = "TOOLCRIB_TEST_PANIC";

    #[test]
    fn a_panic_is_one_sentence_without_secrets() {
        if std::env::var_os(CHILD).is_some() {
            let outcome = guard(|| panic!("bad\ntoken=abc"));
            assert_eq!(outcome, None::<()>);
            return;
        }
        let name = "fault::tests::a_panic_is_one_sentence_without_secrets";
        let child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let told = String::from_utf8(child.stderr).unwrap();
        assert!(child.status.success(), "{told}");
        assert!(told.starts_with("toolcrib: internal error at "), "{told}");
        assert!(told.contains("(bad token=***); this is a bug"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }

    #[test]
    fn a_program_that_does_not_panic_gives_what_it_gives() {
        assert_eq!(reason(&"why"), "why");
        assert_eq!(reason(&"why".to_owned()), "why");
        assert_eq!(reason(&7), "no reason given");
    }
}
