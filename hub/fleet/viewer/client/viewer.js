import RFB from "@novnc/novnc";

/** The viewer's page: query parameters (rules/viewer#viewer-parameters), one noVNC, one line of status. */

const query = new URLSearchParams(location.search);
const isOn = (name) => /^(1|true|yes|on)$/i.test(query.get(name) ?? "");
const settings = {
  autoconnect: isOn("autoconnect"),
  reconnect: isOn("reconnect"),
  view_only: isOn("view_only"),
  resize: query.get("resize") ?? "off",
  password: query.get("password") ?? "",
};

const at = (id) => document.getElementById(id);
const [screen, note, statusLine, connectButton] = ["screen", "note", "status", "connect"].map(at);
const [pasteButton, pasteBox, pasteText] = ["paste", "paste-box", "paste-text"].map(at);

const SESSION_OVER = 4404;
/** The link that this page came by has expired, or was ended. */
const LINK_OVER = [4403, 4410];
/** The hub says that it restarts, or its process ended without a word. */
const HUB_GONE = [1012, 1006];
const RETRY_MS = { first: 500, most: 30_000 };
/** A restarting hub is back in seconds: how often to ask it, and for how long. */
const RESTART_MS = { wait: 700, most: 60_000 };
/** A connection that lasted this long was a good one: the next try comes soon again. */
const STABLE_MS = 10_000;
const KEY = { control: 0xffe3, v: 0x76 };

let rfb = null;
let failures = 0;
let restartsUntil = 0;
let retry = 0;

/** `state`: idle, connecting, connected, waiting, ended. */
function say(state, text) {
  document.body.dataset.state = state;
  statusLine.textContent = text;
  note.textContent = state === "connected" ? "" : text;
  connectButton.hidden = state !== "idle" && state !== "waiting";
  pasteButton.hidden = state !== "connected" || settings.view_only;
  if (pasteButton.hidden) showPasteBox(false);
}

/** Where the stream is: this page's own host and `path`, unless host and port are given. */
function streamUrl() {
  const url = new URL(location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (query.get("host")) url.hostname = query.get("host");
  if (query.get("port")) url.port = query.get("port");
  const path = query.get("path");
  const [pathname, search = ""] =
    path === null
      ? [`${location.pathname}websockify`, ""]
      : `/${path.replace(/^\/+/, "")}`.split("?");
  url.pathname = pathname;
  const params = new URLSearchParams(search);
  if (settings.view_only) params.set("view_only", "true");
  url.search = params.toString();
  url.hash = "";
  return url.href;
}

function connect() {
  clearTimeout(retry);
  say("connecting", "Connecting…");
  let socket;
  try {
    socket = new WebSocket(streamUrl(), ["binary"]);
  } catch (err) {
    return say("ended", `Cannot connect: ${err.message}`);
  }
  let connectedAt = 0;
  let closed = { code: 1006, reason: "" };
  // noVNC does not pass on why the socket closed.
  socket.addEventListener("close", (event) => {
    closed = { code: event.code, reason: event.reason };
  });
  rfb = new RFB(screen, socket, { shared: true, credentials: { password: settings.password } });
  rfb.viewOnly = settings.view_only;
  rfb.scaleViewport = settings.resize === "scale";
  rfb.resizeSession = settings.resize === "remote";
  rfb.clipViewport = false;
  rfb.background = "transparent";
  rfb.addEventListener("connect", () => {
    connectedAt = Date.now();
    say("connected", settings.view_only ? "Connected, view only" : "Connected");
  });
  rfb.addEventListener("credentialsrequired", () =>
    rfb.sendCredentials({ password: settings.password }),
  );
  rfb.addEventListener("securityfailure", (event) => {
    closed.reason ||= event.detail.reason ?? "refused";
  });
  rfb.addEventListener("clipboard", (event) => {
    pasteText.value = event.detail.text;
    // Only works in a page that has the focus and the right to it; the box shows the text in any case.
    navigator.clipboard?.writeText(event.detail.text).catch(() => {});
  });
  rfb.addEventListener("disconnect", () => {
    rfb = null;
    if (connectedAt > 0 && Date.now() - connectedAt >= STABLE_MS) failures = 0;
    // The close event may come after noVNC's own.
    setTimeout(() => disconnected(closed), 0);
  });
}

async function disconnected({ code, reason }) {
  if (code === SESSION_OVER) return ended(reason);
  if (LINK_OVER.includes(code)) return say("ended", reason);
  if (failures === 0 && HUB_GONE.includes(code)) restartsUntil = Date.now() + RESTART_MS.most;
  const why = reason || (await reasonFromHub());
  if (why === null) return;
  const said = why ? `Disconnected: ${why}` : "Disconnected";
  if (!settings.reconnect) return say("idle", said);
  const most = Date.now() < restartsUntil ? RESTART_MS.wait : RETRY_MS.most;
  const wait = Math.min(RETRY_MS.first * 2 ** failures, most) * (0.75 + Math.random() / 4);
  failures += 1;
  countDown(said, Date.now() + wait);
}

/** Why there is no stream, in the hub's words; null, and said, when there will be none again: the session or link is over. */
async function reasonFromHub() {
  try {
    const answer = await fetch(location.pathname, {
      cache: "no-store",
      credentials: "same-origin",
    });
    if (answer.ok) return "";
    const { detail = `the hub answered ${answer.status}` } = await answer.json();
    if (answer.status === 404) ended("session ended");
    else if (LINK_OVER.includes(4000 + answer.status)) say("ended", detail);
    else return detail;
    return null;
  } catch {
    return "the hub cannot be reached";
  }
}

function countDown(said, until) {
  const left = until - Date.now();
  if (left <= 0) return void again();
  say("waiting", `${said}. Trying again in ${Math.ceil(left / 1000)} s`);
  retry = setTimeout(() => countDown(said, until), Math.min(left, 250));
}

/** A session that is over is not asked for any more. */
async function again() {
  if ((await reasonFromHub()) !== null) connect();
}

function ended(reason) {
  const text = reason.replace(/^session (ended:?|not found)\s*/i, "");
  say("ended", text ? `Session ended: ${text}` : "Session ended");
}

function showPasteBox(open) {
  pasteBox.hidden = !open;
  pasteButton.setAttribute("aria-expanded", String(open));
  if (open) pasteText.focus();
}

function paste() {
  rfb.sendKey(KEY.control, "ControlLeft", true);
  rfb.sendKey(KEY.v, "KeyV", true);
  rfb.sendKey(KEY.v, "KeyV", false);
  rfb.sendKey(KEY.control, "ControlLeft", false);
}

pasteButton.addEventListener("click", () => showPasteBox(pasteBox.hidden));
at("paste-close").addEventListener("click", () => showPasteBox(false));
pasteBox.addEventListener("submit", (event) => {
  event.preventDefault();
  if (rfb === null) return;
  rfb.clipboardPasteFrom(pasteText.value);
  showPasteBox(false);
  rfb.focus();
  if (event.submitter?.name === "paste") paste();
});
connectButton.addEventListener("click", connect);
globalThis.addEventListener("pagehide", () => rfb?.disconnect());

if (!["scale", "remote", "off"].includes(settings.resize)) settings.resize = "off";
if (settings.autoconnect) connect();
else say("idle", "Not connected");
