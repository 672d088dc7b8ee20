import type { Protocol } from "../cdp/connection.ts";

type Metadata = Protocol.Emulation.UserAgentMetadata;
type Brand = Protocol.Emulation.UserAgentBrandVersion;

/** The parts of the brand that stands for nobody, by which Chromium keeps sites from reading brands at fixed places. */
const GREASE = {
  characters: [" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_"],
  versions: ["8", "99", "24"],
  orders: [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ],
};

/** Which other browsers built on Chromium call themselves by. */
const BRANDS: [sign: RegExp, brand: string][] = [
  [/\bEdg(?:A|iOS)?\/([\d.]+)/, "Microsoft Edge"],
  [/\bOPR\/([\d.]+)/, "Opera"],
];

const at = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

const majorOf = (version: string): string => version.split(".")[0] ?? version;

/** The three brands in the order that Chromium gives them at this version. `full`: with their whole versions. */
function brandsOf(chromium: string, own: Brand, full: boolean): Brand[] {
  const seed = Number(majorOf(chromium));
  const nobody = `Not${at(GREASE.characters, seed)}A${at(GREASE.characters, seed + 1)}Brand`;
  const version = at(GREASE.versions, seed);
  const shown = (v: string) => (full ? v : majorOf(v));
  const list = [
    { brand: nobody, version: full ? `${version}.0.0.0` : version },
    { brand: "Chromium", version: shown(chromium) },
    { brand: own.brand, version: shown(own.version) },
  ];
  const placed: Brand[] = [];
  for (const [i, place] of at(GREASE.orders, seed).entries()) placed[place] = at(list, i);
  return placed;
}

interface System {
  /** As `navigator.platform` says it. */
  platform: string;
  hints: Pick<Metadata, "platform" | "platformVersion" | "architecture" | "model" | "mobile"> & {
    bitness: string;
  };
}

/** What the text says of the machine; Linux, as on the worker, where it says nothing. */
function systemOf(user_agent: string): System {
  const desktop = { model: "", mobile: false, architecture: "x86", bitness: "64" };
  const [, android, model = ""] =
    /Android ([\d.]+)(?:; ([^;)]+?))?(?: Build\/[^)]*)?\)/.exec(user_agent) ?? [];
  if (android !== undefined) {
    const mobile = /\bMobile\b/.test(user_agent);
    const hints = { model: model === "K" ? "" : model, mobile, architecture: "", bitness: "" };
    const platformVersion = /\./.test(android) ? android : `${android}.0.0`;
    return {
      platform: "Linux armv81",
      hints: { ...hints, platform: "Android", platformVersion },
    };
  }
  const mac = /Mac OS X ([\d_.]+)/.exec(user_agent)?.[1];
  if (/iPhone|iPad/.test(user_agent))
    return {
      platform: /iPad/.test(user_agent) ? "iPad" : "iPhone",
      hints: { ...desktop, mobile: true, platform: "iOS", platformVersion: "" },
    };
  if (mac !== undefined)
    return {
      platform: "MacIntel",
      hints: { ...desktop, platform: "macOS", platformVersion: mac.replaceAll("_", ".") },
    };
  if (/Windows/.test(user_agent))
    return {
      platform: "Win32",
      hints: { ...desktop, platform: "Windows", platformVersion: "10.0.0" },
    };
  if (/CrOS/.test(user_agent))
    return {
      platform: "Linux x86_64",
      hints: { ...desktop, platform: "Chrome OS", platformVersion: "" },
    };
  return {
    platform: "Linux x86_64",
    hints: { ...desktop, platform: "Linux", platformVersion: "" },
  };
}

/**
 * The whole version behind the reduced one of a user agent: known of the version that runs here (`Chrome/156.0.8078.108`).
 */
function wholeVersion(shown: string, product: string): string {
  const own = /\/([\d.]+)/.exec(product)?.[1] ?? "";
  return majorOf(own) === majorOf(shown) && /^\d+\.0\.0\.0$/.test(shown) ? own : shown;
}

/**
 * What a browser that calls itself `user_agent` says of itself besides. A browser that is not built on Chromium sends no
 * client hints, and gets none. `product`: the browser that really runs.
 */
export function describeUserAgent(
  user_agent: string,
  product: string,
): {
  platform: string;
  metadata: Metadata | null;
} {
  const { platform, hints } = systemOf(user_agent);
  const reduced = /\bChrom(?:e|ium)\/([\d.]+)/.exec(user_agent)?.[1];
  if (reduced === undefined) return { platform, metadata: null };
  const chromium = wholeVersion(reduced, product);
  const [brand, version] = BRANDS.flatMap(([sign, name]) => {
    const found = sign.exec(user_agent)?.[1];
    return found === undefined ? [] : [[name, found] as const];
  })[0] ?? ["Google Chrome", chromium];
  const own = { brand, version };
  return {
    platform,
    metadata: {
      brands: brandsOf(chromium, own, false),
      fullVersionList: brandsOf(chromium, own, true),
      fullVersion: own.version,
      platform: hints.platform,
      platformVersion: hints.platformVersion,
      architecture: hints.architecture,
      model: hints.model,
      mobile: hints.mobile,
      bitness: hints.bitness,
      wow64: false,
    },
  };
}
