//! What kind of machine this is, in words that say nothing of which one.

use std::fs;
use std::process::Command;

use crate::programs::{SHORT, output_of};

/// One line: cores, memory, system, compiler.
pub(super) fn class() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rust = output_of(Command::new("rustc").arg("--version"), SHORT).unwrap_or_default();
    describe(
        cores,
        &read("/proc/cpuinfo"),
        &read("/proc/meminfo"),
        &read("/proc/sys/kernel/osrelease"),
        &rust,
    )
}

fn describe(cores: usize, cpu: &str, memory: &str, kernel: &str, rust: &str) -> String {
    let vendor = match field(cpu, "vendor_id") {
        Some("GenuineIntel") => "Intel",
        Some("AuthenticAMD") => "AMD",
        _ => "other",
    };
    let kind = match field(cpu, "flags") {
        Some(flags) if flags.split(' ').any(|flag| flag == "hypervisor") => "virtual cores",
        _ => "cores",
    };
    let gib = field(memory, "MemTotal")
        .and_then(|size| size.trim_end_matches("kB").trim().parse::<f64>().ok())
        .map_or(0, |kib| (kib / 1_048_576.0).round() as u64);
    let release: Vec<&str> = kernel.trim().split('.').take(2).collect();
    let compiler = rust.split(' ').take(2).collect::<Vec<_>>().join(" ");
    format!(
        "{cores} {kind} ({} {vendor}), {gib} GiB of memory, Linux {}, {compiler}",
        std::env::consts::ARCH,
        release.join(".")
    )
}

/// The value of the first line that begins like this.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_by_its_class() {
        let told = describe(
            2,
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: X @ 2.00GHz\nflags\t\t: fpu hypervisor\n",
            "MemTotal:       24576000 kB\nMemFree: 1 kB\n",
            "6.1.102-special-name\n",
            "rustc 1.95.0 (59807616e 2026-04-14)",
        );
        assert!(told.starts_with("2 virtual cores ("), "{told}");
        assert!(
            told.ends_with(" Intel), 23 GiB of memory, Linux 6.1, rustc 1.95.0"),
            "{told}"
        );
        assert!(describe(1, "", "", "", "").starts_with("1 cores"));
    }
}
