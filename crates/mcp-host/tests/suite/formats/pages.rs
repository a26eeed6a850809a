//! The entries on the pages of `docs/hosts` are read without a warning.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mcp_host::{Config, ConfigFormat, Launch};

/// The pages, and the files whose entries they show.
const PAGES: &[(&str, &str)] = &[
    ("claude-code.md", ".mcp.json"),
    ("claude-desktop.md", "claude_desktop_config.json"),
    ("codex.md", ".codex/config.toml"),
    ("cursor.md", ".cursor/mcp.json"),
    ("gemini-cli.md", ".gemini/settings.json"),
    ("goose.md", "goose/config.yaml"),
    ("vs-code.md", ".vscode/mcp.json"),
    ("zed.md", ".zed/settings.json"),
];
/// Pages without a file.
const OTHER_PAGES: &[&str] = &["README.md", "chatgpt.md"];
const LANGUAGES: &[&str] = &["json", "jsonc", "toml", "yaml"];

/// The code blocks in languages of configuration files.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    // Text and code alternate.
    let code = page.split("```").skip(1).step_by(2);
    code.filter_map(|block| {
        let (language, text) = block.split_once('\n')?;
        LANGUAGES.contains(&language).then_some(text)
    })
}

#[test]
fn each_page_in_docs_hosts_is_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts");
    let names = fs::read_dir(folder).unwrap().map(|entry| {
        let name = entry.unwrap().file_name();
        name.into_string().unwrap()
    });
    let tested = PAGES
        .iter()
        .map(|(page, _)| *page)
        .chain(OTHER_PAGES.iter().copied());
    let tested: BTreeSet<String> = tested.map(str::to_owned).collect();
    assert_eq!(names.collect::<BTreeSet<_>>(), tested);
}

#[test]
fn the_examples_in_each_host_page_configure_a_program_and_a_url() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts");
    for (page, file) in PAGES {
        let format = ConfigFormat::of_path(file);
        if format == ConfigFormat::Codex && cfg!(not(feature = "codex")) {
            continue;
        }
        let text = fs::read_to_string(folder.join(page)).unwrap();
        let mut found = BTreeSet::new();
        for block in blocks(&text) {
            let config = Config::parse(block, format).expect(block);
            let problems: Vec<String> = config
                .errors()
                .map(|(_, error)| error.to_string())
                .collect();
            assert_eq!(
                (problems, config.warnings()),
                (vec![], &[][..]),
                "{page}: {block}"
            );
            for (name, server) in config.servers() {
                match &server.launch {
                    Launch::Stdio { command, args, .. } if name == "calc" => {
                        assert!(command.ends_with("/calc"), "{page}: {command} {args:?}");
                    }
                    // A server over HTTP, through a bridge.
                    Launch::Stdio { command, args, .. } => {
                        let args: Vec<&str> = args.iter().map(String::as_str).collect();
                        assert!(command.ends_with("/mcp"), "{page}: {command}");
                        assert_eq!(args, ["bridge", "https://mcp.example.com/mcp", "--stdio"]);
                    }
                    Launch::Http { url, .. } => assert_eq!(url, "https://mcp.example.com/mcp"),
                    _ => panic!("{page}: {name}"),
                }
                found.insert(name.to_owned());
            }
        }
        let expected = ["calc", "notes"].map(str::to_owned);
        assert_eq!(found, BTreeSet::from(expected), "{page}");
    }
}
