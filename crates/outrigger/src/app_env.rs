//! The environment that Argo CD would send with an application.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use crate::cli::TreeArgs;

/// The variables for an application given on the command line, in the order Argo CD sends them.
pub fn of(args: &TreeArgs, app_name: &str) -> Result<Vec<(String, String)>> {
    let mut env: Vec<(String, String)> = [
        ("ARGOCD_APP_NAME", app_name),
        ("ARGOCD_APP_NAMESPACE", &args.namespace),
        ("ARGOCD_APP_PROJECT_NAME", "default"),
        ("ARGOCD_APP_REVISION", ""),
        ("ARGOCD_APP_REVISION_SHORT", ""),
        ("ARGOCD_APP_REVISION_SHORT_8", ""),
        ("ARGOCD_APP_SOURCE_REPO_URL", ""),
        ("ARGOCD_APP_SOURCE_PATH", &args.app_path),
        ("ARGOCD_APP_SOURCE_TARGET_REVISION", ""),
        ("KUBE_VERSION", ""),
        ("KUBE_API_VERSIONS", ""),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let mut own = Vec::new();
    for pair in &args.env {
        let (name, value) =
            pair.split_once('=').with_context(|| format!("--env {pair:?} is not NAME=VALUE"))?;
        if name.starts_with("ARGOCD_") || name.starts_with("KUBE_") {
            env.retain(|(known, _)| known != name);
            env.push((name.to_owned(), value.to_owned()));
        } else {
            own.push((name, value));
        }
    }
    let known: BTreeMap<String, String> = env.iter().cloned().collect();
    env.extend(
        own.into_iter().map(|(name, value)| (format!("ARGOCD_ENV_{name}"), interpolated(value, &known))),
    );
    env.extend(parameters(&args.param)?);
    Ok(env)
}

/// `$NAME` and `${NAME}` replaced by what Argo CD itself sends, `$$` by `$`.
fn interpolated(value: &str, known: &BTreeMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            result.push('$');
            rest = after;
            continue;
        }
        let braced = rest.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let (name, after) = braced.unwrap_or_else(|| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest.split_at(end)
        });
        result.push_str(known.get(name).map_or("", String::as_str));
        rest = after;
    }
    result + rest
}

/// `ARGOCD_APP_PARAMETERS` and the `PARAM_*` variables.
fn parameters(pairs: &[String]) -> Result<Vec<(String, String)>> {
    let mut list = Vec::new();
    let mut variables = Vec::new();
    for pair in pairs {
        let (name, value) =
            pair.split_once('=').with_context(|| format!("--param {pair:?} is not NAME=VALUE"))?;
        let variable = format!("PARAM_{}", escaped(name));
        let mut entry = Map::from_iter([("name".to_owned(), Value::from(name))]);
        match serde_json::from_str(value) {
            Ok(Value::Array(items)) => {
                let items: Vec<String> = items.iter().map(text).collect();
                variables.extend(
                    items.iter().enumerate().map(|(i, item)| (format!("{variable}_{i}"), item.clone())),
                );
                entry.insert("array".to_owned(), items.into());
            }
            Ok(Value::Object(map)) => {
                let map: Map<String, Value> =
                    map.iter().map(|(key, item)| (key.clone(), text(item).into())).collect();
                variables.extend(
                    map.iter().map(|(key, item)| (format!("{variable}_{}", escaped(key)), text(item))),
                );
                entry.insert("map".to_owned(), map.into());
            }
            _ => {
                variables.push((variable, value.to_owned()));
                entry.insert("string".to_owned(), value.into());
            }
        }
        list.push(Value::Object(entry));
    }
    let all = if list.is_empty() { "null".to_owned() } else { Value::from(list).to_string() };
    variables.insert(0, ("ARGOCD_APP_PARAMETERS".to_owned(), all));
    Ok(variables)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn escaped(name: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' { c } else { '_' }
    };
    name.to_uppercase().chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn env(flags: &[&str]) -> BTreeMap<String, String> {
        let line = ["outrigger", "render", "."].iter().chain(flags);
        let Command::Render(args) = Cli::parse_from(line).command else { panic!("render expected") };
        of(&args.tree, "guestbook").unwrap().into_iter().collect()
    }

    #[test]
    fn the_applications_own_variables_are_prefixed_and_interpolated() {
        let env =
            env(&["--env", "HOST=$ARGOCD_APP_NAME.${ARGOCD_APP_NAMESPACE}-$$5-$NOPE.", "--env", "EMPTY="]);
        assert_eq!(env["ARGOCD_ENV_HOST"], "guestbook.default-$5-.");
        assert_eq!(env["ARGOCD_ENV_EMPTY"], "");
    }

    #[test]
    fn what_argo_cd_sends_can_be_replaced() {
        let env = env(&["--env", "KUBE_VERSION=1.36.0", "--namespace", "prod"]);
        assert_eq!(env["KUBE_VERSION"], "1.36.0");
        assert_eq!(env["ARGOCD_APP_NAMESPACE"], "prod");
    }

    #[test]
    fn parameters_are_strings_arrays_and_maps() {
        let env = env(&[
            "--param",
            "image.tag=v1",
            "--param",
            r#"files=["a","b"]"#,
            "--param",
            r#"set={"x-y":"1"}"#,
        ]);
        assert_eq!(env["PARAM_IMAGE_TAG"], "v1");
        assert_eq!(env["PARAM_FILES_1"], "b");
        assert_eq!(env["PARAM_SET_X_Y"], "1");
        let list: Value = serde_json::from_str(&env["ARGOCD_APP_PARAMETERS"]).unwrap();
        assert_eq!(list[0], serde_json::json!({"name": "image.tag", "string": "v1"}));
        assert_eq!(list[1]["array"], serde_json::json!(["a", "b"]));
        assert_eq!(list[2]["map"]["x-y"], "1");
    }
}
