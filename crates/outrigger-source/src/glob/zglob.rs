//! go-zglob 0.0.6 on an index.
//!
//! A pattern becomes a root directory (what stands before the first component with `*` or `{`) and a
//! regular expression over whole paths; everything below the root is tried, links not followed. Without
//! such a component the pattern is a plain path that must exist. Kept as they are: classes go into the
//! expression as written, `!(abc)` excludes characters one by one, `{` takes everything up to `}`
//! literally except commas, and a component `$NAME` is replaced by an environment variable.

use regex::Regex;

use super::{GlobError, TreeIndex, full_pattern, go_regex, inside, runes};
use crate::index::TreeIndex as Index;
use crate::paths::{clean, join};

/// Whether a `discover.find.glob` pattern matches something in the application's directory.
///
/// `env` looks up variables of the server's environment.
pub fn zglob(
    index: &TreeIndex,
    app_rel_path: &str,
    pattern: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<bool, GlobError> {
    let pattern = full_pattern(index, app_rel_path, pattern);
    let Some(query) = Query::new(&pattern, env)? else {
        let found = inside(&pattern).and_then(|path| index.resolve(path, true).ok());
        return found.map(|_| true).ok_or(GlobError::NotFound);
    };
    let Some(root) = inside(&query.root) else {
        return Ok(false);
    };
    let root = index.resolve(root, true).map_err(|_| GlobError::NotFound)?;
    Ok(query.walk(index, root))
}

/// Whether a `discover.find.glob` pattern can be evaluated at all, in an application at the tree's root.
pub fn check_glob_pattern(pattern: &str) -> Result<(), GlobError> {
    let pattern = join(&[super::TREE, pattern.as_bytes()]);
    Query::new(&pattern, &|_| None).map(|_| ())
}

struct Query {
    root: Vec<u8>,
    /// Directories shorter than this and not on the way to it are not entered.
    static_dir: Vec<u8>,
    expression: Regex,
}

impl Query {
    /// `None` if the pattern has no wildcards.
    fn new(pattern: &[u8], env: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, GlobError> {
        let (mut mask, mut root): (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
        for (at, component) in pattern.split(|byte| *byte == b'/').enumerate() {
            if root.is_none() && component.iter().any(|byte| matches!(byte, b'*' | b'{')) {
                root = Some(if mask.is_empty() { b".".to_vec() } else { mask.clone() });
            }
            let replaced = variable(component).map(|name| value(env(name)));
            mask = join(&[&mask, replaced.as_deref().unwrap_or(component)]);
            if at == 0 && mask.is_empty() {
                mask.push(b'/');
            }
        }
        let Some(root) = root else {
            return Ok(None);
        };
        let masks = Masks::of(&runes::text(&clean(&mask)).chars().collect::<Vec<_>>());
        let expression = go_regex::compile(&format!("^{}$", masks.file))?;
        let static_dir = match masks.dir.rfind('/') {
            None => b"./".to_vec(),
            Some(at) => join(&[&clean(&masks.dir.as_bytes()[..=at])]).into_iter().chain([b'/']).collect(),
        };
        Ok(Some(Self { root: clean(&root), static_dir, expression }))
    }

    fn walk(&self, index: &Index, root: u32) -> bool {
        if !index.is_dir(root) {
            return self.matches(&self.root);
        }
        let mut todo = vec![(root, self.root.clone())];
        while let Some((dir, path)) = todo.pop() {
            for child in index.children(dir) {
                let path = [path.as_slice(), b"/", index.name(child)].concat();
                if self.matches(&path) {
                    return true;
                }
                if index.is_dir(child) && self.may_hold_matches(&path) {
                    todo.push((child, path));
                }
            }
        }
        false
    }

    fn matches(&self, path: &[u8]) -> bool {
        self.expression.is_match(&runes::text(path))
    }

    fn may_hold_matches(&self, dir: &[u8]) -> bool {
        let on_the_way = self.static_dir.strip_prefix(dir).is_some_and(|rest| rest.first() == Some(&b'/'));
        dir.len() >= self.static_dir.len() || on_the_way
    }
}

/// The name in a component `$NAME`; for `$(NAME)` the parentheses count as part of it.
fn variable(component: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(component.strip_prefix(b"$")?).ok()?;
    let bare = name.strip_prefix('(').and_then(|name| name.strip_suffix(')')).unwrap_or(name);
    let starts_well = bare.starts_with(|first: char| first.is_ascii_alphabetic());
    let goes_on_well = bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (bare.len() >= 2 && starts_well && goes_on_well).then_some(name)
}

fn value(value: Option<String>) -> Vec<u8> {
    let value = value.unwrap_or_default();
    value.trim_matches(['(', ')']).trim_matches('"').as_bytes().to_vec()
}

/// What a pattern turns into: a regular expression in Go's syntax, and the text before anything variable.
struct Masks {
    file: String,
    dir: String,
    dir_is_open: bool,
}

impl Masks {
    fn of(chars: &[char]) -> Self {
        let mut masks = Self { file: String::new(), dir: String::new(), dir_is_open: true };
        let mut at = 0;
        while at < chars.len() {
            at = masks.take(chars, at) + 1;
        }
        if masks.file.ends_with('/') {
            masks.file.push_str("[^/]*");
        }
        masks
    }

    /// Translates what starts at `at` and returns where it ends.
    fn take(&mut self, chars: &[char], at: usize) -> usize {
        let left = chars.len() - at;
        match chars[at] {
            '\\' if left > 2 => {
                self.file.push_str(&format!("[\\x{:02X}]", u32::from(chars[at + 1])));
                self.static_char(chars[at + 1]);
                at + 1
            }
            '*' => {
                self.dir_is_open = false;
                if left > 2 && chars[at + 1..at + 3] == ['*', '/'] {
                    self.file.push_str("(.*/)?");
                    return at + 2;
                }
                self.file.push_str("[^/]*");
                at
            }
            '[' => {
                self.dir_is_open = false;
                let (inner, end) = until(chars, at, ']');
                if !inner.is_empty() {
                    self.file.push('[');
                    self.file.extend(inner);
                    self.file.push(']');
                }
                end
            }
            '{' => {
                self.dir_is_open = false;
                let (inner, end) = until(chars, at, '}');
                if inner.is_empty() {
                    return self.literal(chars, end);
                }
                self.file.push('(');
                for char in inner {
                    if *char == ',' {
                        self.file.push('|');
                    } else {
                        push_escaped(&mut self.file, *char);
                    }
                }
                self.file.push(')');
                end
            }
            '!' if chars.get(at + 1) == Some(&'(') => {
                let (inner, end) = until(chars, at + 1, ')');
                if inner.is_empty() {
                    return self.literal(chars, end);
                }
                for char in inner {
                    self.file.push_str(&format!("[^\\x{:02X}/]*", u32::from(*char)));
                }
                end
            }
            _ => self.literal(chars, at),
        }
    }

    fn literal(&mut self, chars: &[char], at: usize) -> usize {
        push_escaped(&mut self.file, chars[at]);
        self.static_char(chars[at]);
        at
    }

    fn static_char(&mut self, char: char) {
        if self.dir_is_open {
            self.dir.push(char);
        }
    }
}

/// What stands between the bracket at `open` and `close`, and where `close` is. Without one, everything up
/// to the end; reading then goes on after the opening bracket.
fn until(chars: &[char], open: usize, close: char) -> (&[char], usize) {
    match chars[open + 1..].iter().position(|char| *char == close) {
        Some(length) => (&chars[open + 1..open + 1 + length], open + 1 + length),
        None => (&chars[open + 1..], open),
    }
}

fn push_escaped(into: &mut String, char: char) {
    if char == '/' || char.is_ascii_alphanumeric() || u32::from(char) > 255 {
        into.push(char);
    } else {
        into.push_str(&format!("[\\x{:02X}]", u32::from(char)));
    }
}
