import { RESOLUTION } from "#shared/protocol/limits.ts";
import { TAG_SWITCH } from "./tagged.ts";

export interface FlagOptions {
  headless: boolean;
  /** Debugging port on loopback, in addition to the pipe. */
  cdp_port: number;
  user_data: string;
  /** A switch that Chromium ignores; it names the run on the command line. */
  tag: string;
  sandbox: "on" | "off";
  /** Whether /dev/shm is too small to be used. */
  small_shm: boolean;
  ignore_https_errors: boolean;
  /** Whether pages may tell by `navigator.webdriver` that a program can steer it. */
  shows_automation: boolean;
  /** SHA-256 of a public key, in base64: certificates with this key are valid for every name. */
  trusted_key: string | null;
  /** Port on 127.0.0.1 of the gate through which everything leaves; null for direct connections. */
  gate_port: number | null;
}

/** This must be one list: a second --disable-features would overwrite the first. */
const DISABLED_FEATURES = [
  "AutofillServerCommunication",
  "BackForwardCache",
  "CertificateTransparencyComponentUpdater",
  "DestroyProfileOnBrowserClose",
  "DialMediaRouteProvider",
  "GlobalMediaControls",
  // It would try https before the http URL that the job named.
  "HttpsUpgrades",
  "InterestFeedContentSuggestions",
  "MediaRouter",
  "OptimizationHints",
  "Translate",
  // Two drop-downs of the address bar that are web pages, each loaded in every window before anybody types: they took
  // more than half of the CPU time of a start (1.6 s to 0.8 s). The drop-down that Chromium draws itself takes their place.
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxPopup",
];

/**
 * No extension runs in a lane, whatever a profile or the machine brings along: one with the permission `proxy`
 * outranks `--proxy-server`, and would lead everything past the gate. What Chromium itself is made of, such as its
 * viewer of PDFs, goes on.
 */
const NO_EXTENSIONS = "--disable-extensions";

const QUIET = [
  "--no-first-run",
  "--no-default-browser-check",
  "--no-service-autorun",
  "--disable-background-networking",
  "--disable-breakpad",
  "--disable-client-side-phishing-detection",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-domain-reliability",
  "--disable-search-engine-choice-screen",
  "--disable-sync",
  "--hide-crash-restore-bubble",
  "--metrics-recording-only",
  "--no-pings",
  "--mute-audio",
  "--noerrdialogs",
  // As on a desktop, a page finds its permissions undecided; it is denied as soon as it asks, because nobody may be
  // there to answer.
  "--deny-permission-prompts",
  "--password-store=basic",
];

/**
 * Pages behind others, and pages that nobody watches, run like the one in front; media plays without a click.
 * Chromium's limit of 200 changes of its own address in ten seconds stays as on a desktop: each costs its main thread
 * 5 ms, whether or not anyone listens, and 10,000 calls of `pushState` held up everything else in the browser for
 * more than a minute.
 */
const FULL_SPEED = [
  "--autoplay-policy=no-user-gesture-required",
  "--disable-background-media-suspend",
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-hang-monitor",
  // What a page opens belongs to its job, clicked or not.
  "--disable-popup-blocking",
  "--disable-renderer-backgrounding",
];

/**
 * Renders WebGL and WebGPU on the CPU, as Chromium's own headless mode does: lanes have no GPU, and without one
 * Chromium offers neither by default. The renderer is named explicitly, because a search for a GPU first starts and
 * ends a GPU process, and anything a page requests in between is refused. Everything else is drawn in software either
 * way.
 */
const GRAPHICS = ["--use-angle=swiftshader-webgl", "--enable-unsafe-webgpu"];

/** Blink's numbers for a mouse: pages show menus on hover and size their buttons for a pointer. */
const POINTER =
  "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4";

/** A port or a pipe for debugging makes `navigator.webdriver` true, whoever is at it. */
const NO_WEBDRIVER = "--disable-blink-features=AutomationControlled";

/** The command line of a lane's Chromium, ending with its first page. The port accepts no foreign web origin. */
export function browserFlags(options: FlagOptions): string[] {
  return [
    "--remote-debugging-pipe",
    `--remote-debugging-port=${options.cdp_port}`,
    `--user-data-dir=${options.user_data}`,
    `${TAG_SWITCH}${options.tag}`,
    NO_EXTENSIONS,
    ...QUIET,
    ...FULL_SPEED,
    ...GRAPHICS,
    POINTER,
    ...(options.shows_automation ? [] : [NO_WEBDRIVER]),
    "--disable-quic",
    `--disable-features=${DISABLED_FEATURES.join(",")}`,
    ...(options.gate_port === null ? [] : gateFlags(options.gate_port)),
    ...windowFlags(options.headless),
    ...(options.small_shm ? ["--disable-dev-shm-usage"] : []),
    // Hides the bar that warns about some of these switches.
    "--test-type",
    ...(options.sandbox === "off" ? ["--no-sandbox"] : []),
    ...(options.ignore_https_errors ? ["--ignore-certificate-errors"] : []),
    ...(options.trusted_key === null
      ? []
      : [`--ignore-certificate-errors-spki-list=${options.trusted_key}`]),
    "about:blank",
  ];
}

/**
 * Everything leaves through the worker's gate, including loopback, which Chromium would otherwise not proxy. Chromium
 * resolves nothing itself, and traffic that cannot be proxied (WebRTC over UDP) is not sent.
 */
const gateFlags = (port: number): string[] => [
  `--proxy-server=socks5://127.0.0.1:${port}`,
  "--proxy-bypass-list=<-loopback>",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
];

/**
 * A browser without a display is the same program on a screen that exists in memory only. Chromium's headless mode calls
 * itself HeadlessChrome in every request, and `--user-agent`, which would hide that, empties its client hints.
 */
function windowFlags(headless: boolean): string[] {
  const { width, height } = RESOLUTION;
  return [
    ...(headless ? ["--ozone-platform=headless", `--screen-info={${width}x${height}}`] : []),
    "--window-position=0,0",
    `--window-size=${width},${height}`,
  ];
}
