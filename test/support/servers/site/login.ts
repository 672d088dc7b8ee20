import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type SiteServer, startServer } from "./server.ts";

/** A site with a login form and pages that only somebody who is logged in can see. */
export interface LoginSite {
  origin: string;
  host: string;
  server: SiteServer;
  user: string;
  password: string;
  /** Values of `sid` that are logged in now. */
  sessions: Set<string>;
  /** A logged-in session without the form, for tests that bring the cookie themselves. */
  newSession(): string;
  stop(): Promise<void>;
}

export interface LoginSiteOptions {
  user?: string;
  password?: string;
  /** Makes the session cookie live this long, as a profile needs; by default it ends with the browser. */
  max_age_s?: number;
}

const page = (title: string, body: string): string =>
  `<!doctype html>\n<html><head><title>${title}</title></head><body>${body}</body></html>\n`;

const FORM = `<form id="login" method="post" action="/login">
  <input id="user" name="user" autocomplete="username" autofocus>
  <input id="password" name="password" type="password" autocomplete="current-password">
  <button id="submit" type="submit">Log in</button>
</form>`;

const sidOf = (req: IncomingMessage): string =>
  /(?:^|;\s*)sid=([^;]*)/.exec(req.headers.cookie ?? "")?.[1] ?? "";

async function bodyOf(req: IncomingMessage): Promise<URLSearchParams> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  return new URLSearchParams(text);
}

/**
 * `GET /login` the form, `POST /login` sets the cookie `sid` and leads to `/private`, which says `hello <user>` to who is
 * logged in and leads everybody else to the form; `GET /logout` ends it. `GET /` says who is there.
 * @param host name in the origin, a `*.localhost` name
 */
export async function startLoginSite(
  host = "login.localhost",
  { user = "ada", password = "s3cret-pass", max_age_s }: LoginSiteOptions = {},
): Promise<LoginSite> {
  const server = await startServer(host);
  const sessions = new Set<string>();
  const newSession = () => {
    const sid = randomBytes(12).toString("hex");
    sessions.add(sid);
    return sid;
  };
  const lifetime = max_age_s === undefined ? "" : `; Max-Age=${max_age_s}`;
  const html = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };

  server.on("/", (req, res) => {
    const name = sessions.has(sidOf(req)) ? user : "nobody";
    res.writeHead(200, html);
    res.end(page("Home", `<p id="who">${name}</p><a id="private" href="/private">Private</a>`));
  });
  server.on("/login", async (req, res) => {
    if (req.method !== "POST") {
      res.writeHead(200, html);
      return void res.end(page("Log in", FORM));
    }
    const form = await bodyOf(req);
    if (form.get("user") !== user || form.get("password") !== password) {
      res.writeHead(403, html);
      return void res.end(page("Log in", `<p id="refused">wrong user or password</p>${FORM}`));
    }
    const cookie = `sid=${newSession()}; Path=/; HttpOnly; SameSite=Lax${lifetime}`;
    res.writeHead(303, { location: "/private", "set-cookie": cookie });
    res.end();
  });
  server.on("/private", (req, res) => {
    if (!sessions.has(sidOf(req))) {
      res.writeHead(303, { location: "/login" });
      return void res.end();
    }
    res.writeHead(200, html);
    res.end(
      page("Private", `<h1 id="hello">hello ${user}</h1><a id="logout" href="/logout">Out</a>`),
    );
  });
  server.on("/logout", (req, res) => {
    sessions.delete(sidOf(req));
    res.writeHead(303, { location: "/", "set-cookie": "sid=; Path=/; Max-Age=0" });
    res.end();
  });
  return {
    origin: server.origin,
    host,
    server,
    user,
    password,
    sessions,
    newSession,
    stop: server.stop,
  };
}
