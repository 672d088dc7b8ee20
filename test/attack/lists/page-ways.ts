/**
 * Ways of a page to make its browser connect to `place` (`host:port`) that start no document of a job, as the text of
 * `(place) => …`. Each gives `open` when an answer came. They stand behind `PAGE_WAYS_HELP`, on a page whose site answers
 * `/redirect?to=` and `/sw.js`.
 */
export const PAGE_WAYS: Record<string, string> = {
  fetch: `(place) => asked(fetch("http://" + place + "/fetch", { mode: "no-cors" }))`,
  tls: `(place) => asked(fetch("https://" + place + "/tls", { mode: "no-cors" }))`,
  "fetch that posts": `(place) => asked(fetch("http://" + place + "/post", { mode: "no-cors", method: "POST", body: "{}" }))`,
  "fetch that outlives its page": `(place) => asked(fetch("http://" + place + "/kept", { mode: "no-cors", keepalive: true }))`,
  XMLHttpRequest: `(place) => new Promise((done) => { const x = new XMLHttpRequest(); x.open("GET", "http://" + place + "/xhr"); x.onload = () => done("open"); x.onerror = () => done("shut"); x.send(); })`,
  redirected: `(place) => asked(fetch("/redirect?to=" + encodeURIComponent("http://" + place + "/hop"), { mode: "no-cors" }))`,
  image: `(place) => loaded("img", { src: "http://" + place + "/i.png" })`,
  script: `(place) => loaded("script", { src: "http://" + place + "/s.js" })`,
  "module script": `(place) => asked(import("http://" + place + "/m.js"))`,
  style: `(place) => loaded("link", { rel: "stylesheet", href: "http://" + place + "/s.css" })`,
  video: `(place) => loaded("video", { src: "http://" + place + "/v.mp4", preload: "auto" }, "onloadedmetadata")`,
  object: `(place) => told(() => loaded("object", { data: "http://" + place + "/o" }))`,
  frame: `(place) => told(() => document.body.append(Object.assign(document.createElement("iframe"), { srcdoc: "<img src='http://" + place + "/f.png'>" })))`,
  font: `(place) => asked(new FontFace("x" + Math.random(), "url(http://" + place + "/f.woff2)").load())`,
  hint: `(place) => told(() => { for (const rel of ["preconnect", "dns-prefetch", "prefetch", "modulepreload", "manifest", "icon"]) document.head.append(Object.assign(document.createElement("link"), { rel, href: "http://" + place + "/" })); })`,
  "speculation rules": `(place) => told(() => document.head.append(Object.assign(document.createElement("script"), { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ urls: ["http://" + place + "/spec"], eagerness: "immediate" }] }) })))`,
  beacon: `(place) => told(() => navigator.sendBeacon("http://" + place + "/b", "x"))`,
  ping: `(place) => told(() => { const a = document.createElement("a"); a.href = "#x"; a.ping = "http://" + place + "/p"; document.body.append(a); a.click(); })`,
  socket: `(place) => new Promise((done) => { const s = new WebSocket("ws://" + place + "/w"); s.onopen = () => done("open"); s.onclose = () => done("shut"); })`,
  events: `(place) => new Promise((done) => { const e = new EventSource("http://" + place + "/e"); e.onopen = () => done("open"); e.onerror = () => { e.close(); done("shut"); }; })`,
  transport: `(place) => asked(new WebTransport("https://" + place + "/t").ready)`,
  worker: `(place) => inWorker("fetch('http://" + place + "/k', { mode: 'no-cors' }).then(() => postMessage('open'), () => postMessage('shut'))")`,
  "script of a worker": `(place) => inWorker("try { importScripts('http://" + place + "/i.js'); postMessage('open') } catch { postMessage('shut') }")`,
  service: `async (place) => {
    await navigator.serviceWorker.register("/sw.js");
    const worker = (await navigator.serviceWorker.ready).active;
    const channel = new MessageChannel();
    return new Promise((done) => { channel.port1.onmessage = (e) => done(e.data); worker.postMessage("http://" + place + "/sw", [channel.port2]); });
  }`,
  rtc: `async (place) => {
    // Its search for a way takes seconds.
    if (place !== places[0]) return "told";
    const peer = new RTCPeerConnection({ iceServers: [{ urls: ["stun:" + place, "turn:" + place + "?transport=udp", "turn:" + place + "?transport=tcp"], username: "u", credential: "c" }] });
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
    await new Promise((done) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done(); setTimeout(done, 3000); });
    return "told";
  }`,
};

/** Of each kind one: where there are many places to try, all of the others would take minutes on a busy machine. */
export const MAIN_WAYS: readonly string[] = [
  ...["fetch", "tls", "redirected", "image", "script", "style", "hint", "beacon", "ping"],
  ...["socket", "events", "worker", "service", "rtc"],
];

/** Those that tell an answer when the server says `secret` in plain text, so that their page learns whether they work. */
export const WAYS_THAT_TELL = [
  ...["fetch", "fetch that posts", "fetch that outlives its page", "XMLHttpRequest", "redirected"],
  ...["worker", "service"],
];

export const PAGE_WAYS_HELP = `
  const asked = (promise) => promise.then(() => "open", () => "shut");
  const told = (work) => { work(); return "told"; };
  const ended = (element, on) => new Promise((done) => {
    element[on] = () => done("open");
    element.onerror = () => done("shut");
    setTimeout(() => done("silent"), 8000);
  });
  const loaded = (tag, of, on = "onload") => {
    const element = Object.assign(document.createElement(tag), of);
    const end = ended(element, on);
    document.head.append(element);
    return end;
  };
  const inWorker = (code) => new Promise((done) => {
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onmessage = (e) => done(e.data);
    worker.onerror = () => done("shut");
  });
  const ways = { ${Object.entries(PAGE_WAYS)
    .map(([name, way]) => `${JSON.stringify(name)}: ${way}`)
    .join(",\n")} };`;

/** What `/sw.js` of the page's site answers. */
export const SERVICE_WORKER = `
  self.oninstall = () => self.skipWaiting();
  self.onactivate = (e) => e.waitUntil(clients.claim());
  self.onmessage = (e) => fetch(e.data, { mode: "no-cors" })
    .then(() => e.ports[0].postMessage("open"), () => e.ports[0].postMessage("shut"));`;

/** Text that tries every way at every place, all at once, and gives `way answer` of each. `places` is a list of `host:port`. */
export const TRY_ALL = `
  const said = new Set();
  await Promise.all(places.flatMap((place) =>
    Object.entries(ways).map(async ([name, way]) => {
      const answer = await Promise.resolve(way(place)).catch((err) => "threw " + err);
      said.add(name + " " + answer);
    })));`;
