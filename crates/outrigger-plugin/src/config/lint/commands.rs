//! Commands that look like shell scripts but are run without a shell.

use super::{File, Finding, Place, child, items};
use crate::config::Command;
use crate::yaml::{Content, Node, Scalar};

const SHELLS: &[&str] = &["sh", "bash", "ash", "dash", "zsh", "ksh", "mksh", "fish", "busybox", "pwsh"];
/// Programs whose own language uses `$NAME`, or which expand it themselves.
const READ_DOLLARS: &[&str] = &[
    "awk", "envsubst", "gawk", "gojq", "jq", "make", "mawk", "nix", "node", "perl", "php", "python",
    "python3", "ruby", "sed", "xonsh", "yq",
];
const SHELL_WORDS: &[&str] = &["|", "||", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>", "&"];
const SHELL_HINT: &str = "no shell runs the command; write command: [sh, -c] and the script in args";

pub(super) fn check(file: &File<'_>, findings: &mut Vec<Finding>) {
    let spec = &file.config.spec;
    let all: [(&[&str], &Command); 4] = [
        (&["spec", "init"], &spec.init),
        (&["spec", "generate"], &spec.generate),
        (&["spec", "discover", "find"], &spec.discover.find.command),
        (&["spec", "parameters", "dynamic"], &spec.parameters.dynamic),
    ];
    for (path, command) in all {
        if let Some(node) = file.get(path) {
            command_at(&path.join("."), node, command, findings);
        }
    }
}

fn command_at(path: &str, node: Node<'_>, command: &Command, findings: &mut Vec<Finding>) {
    let Some(program) = command.command.first() else {
        if !command.args.is_empty() {
            let place = Place::of(child(node, "args").unwrap_or(node));
            let message = format!("{path} has args but no command, so it is never run");
            findings.push(place.warning("args-without-command", message, "name the program in command"));
        }
        return;
    };
    let first = items(child(node, "command")).first().copied().unwrap_or(node);
    if program.is_empty() {
        let message = format!("{path}.command begins with an empty program name");
        findings.push(Place::of(first).error("empty-program", message, "name a program"));
        return;
    }
    if command.command.len() == 1 && program.contains(char::is_whitespace) {
        let message =
            format!("{path}.command is one text with blanks: all of it is taken for the program's name");
        let hint = "split it into a list, or write command: [sh, -c] and the text in args";
        findings.push(Place::of(first).warning("command-in-one-string", message, hint));
        return;
    }
    let words = || command.command.iter().chain(&command.args);
    if words().any(|word| SHELLS.contains(&base_name(word))) {
        return;
    }
    let reads_dollars = READ_DOLLARS.contains(&base_name(program));
    let nodes = items(child(node, "command")).into_iter().chain(items(child(node, "args")));
    for word in nodes {
        let Content::Scalar(Scalar::Text(text)) = word.content() else {
            continue;
        };
        let looks_like_shell =
            SHELL_WORDS.contains(&text.as_ref()) || (!reads_dollars && has_shell_expansion(text));
        if looks_like_shell {
            let message = format!("{path} uses shell syntax, but is run without a shell");
            findings.push(Place::of(word).warning("shell-syntax", message, SHELL_HINT));
            return;
        }
    }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// `$NAME`, `${NAME}` or `$(command)`. Names in lower case are left alone: they are often no shell's.
fn has_shell_expansion(text: &str) -> bool {
    text.split('$').skip(1).any(|behind| {
        let name = behind.trim_start_matches('{');
        let length =
            name.chars().take_while(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_').count();
        let is_name = length > 1 && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        behind.starts_with('(') || (is_name && !name[length..].starts_with(|c: char| c.is_ascii_lowercase()))
    })
}
