//! Which request gets what, and what has to be proved first: the name of the host always, then the cookie, but for the page itself and
//! the exchange of the token, which hold no data.

use serde_json::Value;

use super::access::Access;
use super::api::Api;
use super::connections::{Id, Next};
use super::http::{Answer, Method, Request};

const PAGE: &str = include_str!("app/index.html");
const STYLE: &str = concat!(include_str!("app/style.css"), include_str!("../plots/style.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("app/dom.js"),
    include_str!("app/server.js"),
    include_str!("app/now.js"),
    include_str!("app/task.js"),
    include_str!("app/views.js"),
    include_str!("app/main.js"),
);
const ICON: &str = include_str!("app/icon.svg");

pub fn handle(access: &Access, api: &Api, id: Id, request: Request) -> Next {
    match route(access, &request) {
        Ok(Route::Answer(answer)) => Next::Answer(answer),
        Ok(Route::Stream) => Next::Stream,
        Ok(Route::Api) => match api.take(id, request) {
            true => Next::Wait,
            false => Next::Answer(Answer::error(503, "too many requests are waiting; try again")),
        },
        Err((status, why)) => Next::Answer(Answer::error(status, why)),
    }
}

enum Route {
    Answer(Answer),
    Stream,
    Api,
}

fn route(access: &Access, request: &Request) -> Result<Route, super::access::Refusal> {
    access.check_host(request)?;
    let text = |kind: &str, body: &str| Ok(Route::Answer(Answer::new(200, kind, body.as_bytes())));
    match (request.method, request.path.as_str()) {
        (Method::Get, "/") => return text("text/html; charset=utf-8", PAGE),
        (Method::Get, "/app.js") => return text("text/javascript; charset=utf-8", SCRIPT),
        (Method::Get, "/app.css") => return text("text/css; charset=utf-8", STYLE),
        (Method::Get, "/icon.svg") => return text("image/svg+xml", ICON),
        (Method::Post, "/api/session") => {
            access.check_origin(request)?;
            return exchange(access, request).map(Route::Answer);
        }
        _ => access.check_cookie(request)?,
    }
    match (request.method, request.path.as_str()) {
        (Method::Get, "/api/events") => Ok(Route::Stream),
        (Method::Get, path) if path.starts_with("/api/") || path == "/report" => Ok(Route::Api),
        (Method::Post, "/api/action") => {
            access.check_change(request)?;
            Ok(Route::Api)
        }
        _ => Err((404, "there is no such page")),
    }
}

fn exchange(access: &Access, request: &Request) -> Result<Answer, super::access::Refusal> {
    let asked: Option<Value> = serde_json::from_slice(&request.body).ok();
    let token = asked.as_ref().and_then(|asked| asked["token"].as_str()).ok_or((400, "there is no token"))?;
    let (cookie, key) = access.exchange(token)?;
    let body = serde_json::json!({ "key": key }).to_string();
    Ok(Answer::with(200, "application/json", &cookie, body.as_bytes()))
}
