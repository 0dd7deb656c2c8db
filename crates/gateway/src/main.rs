//! The `toolcrib` binary.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    // The same program stands between Toolcrib and each server that it starts, and filters results.
    if let Some(code) = toolcrib_upstream::mcp::launcher::run_if_launcher(&args) {
        return code;
    }
    if let Some(code) = toolcrib::select::run_if_filter(&args) {
        return code;
    }
    // Pages of two megabytes would be mostly air in a process as small as this one.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    toolcrib::cli::main(args)
}
