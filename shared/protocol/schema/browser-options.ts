import { z } from "@hono/zod-openapi";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import { DEVICES } from "../devices.gen.ts";
import { Block } from "./block.ts";
import { CertificateAuthorities } from "./certificate-authorities.ts";
import { HEADER_NAME, OF_CONNECTIONS } from "./header-names.ts";
import { HttpCredentials } from "./http-credentials.ts";

/**
 * What the pages of a browser see of the person at it (rules/browser-options). A job, a session, a host and the fleet's
 * setting name the same options, and each is decided by itself.
 */

const MAX_USER_AGENT = 1_000;

function isLocale(text: string): boolean {
  try {
    return new Intl.Locale(text).baseName === text;
  } catch {
    return false;
  }
}

/** Chromium takes names as they are written in the list of zones, and no offsets. */
function isTimezone(text: string): boolean {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions();
    return timeZone === text && !/^[+-]/.test(text);
  } catch {
    return false;
  }
}

/** Playwright's names. What a page may do besides reading and writing text needs none of them. */
export const PERMISSIONS = [
  "accelerometer",
  "ambient-light-sensor",
  "background-sync",
  "camera",
  "clipboard-read",
  "clipboard-write",
  "geolocation",
  "gyroscope",
  "local-fonts",
  "magnetometer",
  "microphone",
  "midi",
  "midi-sysex",
  "notifications",
  "payment-handler",
  "storage-access",
] as const;

export const Viewport = z.strictObject({
  width: z
    .int()
    .min(100)
    .max(7_680)
    .meta({ description: "The width of the page; by default that of the screen." }),
  height: z
    .int()
    .min(100)
    .max(4_320)
    .meta({ description: "The height of the page; by default that of the screen." }),
});
export type Viewport = z.infer<typeof Viewport>;

const Geolocation = z.strictObject({
  latitude: z.number().min(-90).max(90).meta({ description: "In degrees." }),
  longitude: z.number().min(-180).max(180).meta({ description: "In degrees." }),
  accuracy: z.number().min(0).max(1_000_000).default(0).meta({ description: "In metres." }),
});

const MAX_HEADERS = 50;
/** Names and values together: servers refuse larger requests. */
const MAX_HEADERS_CHARACTERS = 8_192;
const MAX_SCRIPTS = 20;
const MAX_SCRIPT_BYTES = 100 * 1024;

/** Everybody who may read a record reads its options. */
const SECRET = /^(cookie2?|authorization)$/i;
/** What the browser says by itself, in each request as it has to be: with another value, requests fail or answers are others. */
const OF_THE_BROWSER =
  /^(sec-.*|set-cookie2?|user-agent|accept-language|accept-encoding|content-.*|origin|referer|range|if-.*|access-control-.*|date|via)$/i;

const namesOf = (headers: Record<string, string>): string[] =>
  Object.keys(headers).map((name) => name.toLowerCase());

const ExtraHeaders = z
  .record(
    z.string(),
    z.string().regex(/^[\u0020-\u007e]*$/, "must consist of printable ASCII characters"),
  )
  .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, {
    error: `must be at most ${MAX_HEADERS}`,
  })
  .refine((headers) => Object.entries(headers).flat().join("").length <= MAX_HEADERS_CHARACTERS, {
    error: `must be at most ${MAX_HEADERS_CHARACTERS} characters in all`,
  })
  .refine((headers) => namesOf(headers).every((name) => HEADER_NAME.test(name)), {
    error: "must have names that headers may have",
  })
  .refine((headers) => new Set(namesOf(headers)).size === Object.keys(headers).length, {
    error: "must not have the same name twice",
  })
  .refine((headers) => !namesOf(headers).some((name) => SECRET.test(name)), {
    error: "must not have a header with a secret (cookie, authorization), because records show it",
  })
  .refine(
    (headers) =>
      !namesOf(headers).some((name) => OF_CONNECTIONS.test(name) || OF_THE_BROWSER.test(name)),
    { error: "must not have a header that the browser sets by itself" },
  );

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** Each option by itself, without a default. */
const OPTIONS = {
  user_agent: z
    .string()
    .min(1)
    .max(MAX_USER_AGENT)
    .regex(/^[\u0020-\u007e]*$/, "must consist of printable ASCII characters")
    .meta({
      description:
        "The User-Agent of requests and scripts. The client hints and navigator.platform are made to match it.",
    }),
  locale: z.string().max(35).refine(isLocale, "must be a language tag such as de-DE").meta({
    description:
      "The language of the browser, such as de-DE: Accept-Language, navigator.languages, and how numbers and dates are written.",
  }),
  timezone: z
    .string()
    .max(64)
    .refine(isTimezone, "must be a time zone such as Europe/Berlin")
    .meta({ description: "The time zone of scripts, such as Europe/Berlin." }),
  color_scheme: z
    .enum(["light", "dark", "no-preference"])
    .meta({ description: "The colours that pages are asked for." }),
  viewport: Viewport.meta({ description: "The size of pages." }),
  device: z
    .string()
    .max(64)
    .refine((name) => Object.hasOwn(DEVICES, name), "must be a device that Playwright knows")
    .meta({
      description:
        "A device of Playwright's list, such as Pixel 7: its size, pixels, touch and name, unless viewport or user_agent say otherwise.",
    }),
  geolocation: Geolocation.meta({
    description: "Where the browser is. Pages may ask for it without a question to anybody.",
  }),
  permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).meta({
    description: "What pages may do without a question to anybody, by Playwright's names.",
  }),
  extra_headers: ExtraHeaders.meta({
    description: "Headers that every request of the browser has, to any host. Records show them.",
  }),
  init_scripts: z
    .array(z.string())
    .max(MAX_SCRIPTS)
    .refine((scripts) => scripts.reduce((sum, one) => sum + bytesOf(one), 0) <= MAX_SCRIPT_BYTES, {
      error: `must be at most ${MAX_SCRIPT_BYTES} bytes in all`,
    })
    .meta({
      description:
        "JavaScript that runs in every document before its own, in windows and frames, in this order.",
    }),
  javascript: z.boolean().meta({ description: "False: documents run no scripts." }),
  ignore_https_errors: z.boolean().meta({
    description:
      "True: sites are opened whose certificates are invalid. The job or session gets a browser that is started for it.",
  }),
  certificate_authorities: CertificateAuthorities.meta({
    description:
      "Certificates (PEM) of authorities that the browser trusts besides Chromium's own, such as that of your network. The job or session gets a browser that is started for it.",
  }),
  max_download_bytes: z
    .int()
    .min(0)
    .max(2 ** 40)
    .meta({
      description:
        "How much the files may have in all that the browser downloads; 0: none are kept. What exceeds it is cancelled.",
      "x-unit": "bytes",
    }),
  http_credentials: HttpCredentials.meta({
    description:
      "The login for servers that ask for one (HTTP authentication); its password is a placeholder of the hub's.",
  }),
  block: Block.meta({
    description:
      "Requests that the browser does not make: ads, kinds of requests, hosts, patterns.",
  }),
};

export type BrowserOptionName = keyof typeof OPTIONS;
export const BROWSER_OPTION_NAMES = Object.keys(OPTIONS) as BrowserOptionName[];

/** Null: the host, then the setting, then the browser itself decides. */
const unset = <S extends z.ZodType>(schema: S) =>
  schema.nullable().default(null).meta({ description: schema.description });

/** The options as a job or a session has them beside its others. */
export const ownBrowserOptions = {
  user_agent: unset(OPTIONS.user_agent),
  locale: unset(OPTIONS.locale),
  timezone: unset(OPTIONS.timezone),
  color_scheme: unset(OPTIONS.color_scheme),
  viewport: unset(OPTIONS.viewport),
  device: unset(OPTIONS.device),
  geolocation: unset(OPTIONS.geolocation),
  permissions: unset(OPTIONS.permissions),
  extra_headers: unset(OPTIONS.extra_headers),
  init_scripts: unset(OPTIONS.init_scripts),
  javascript: unset(OPTIONS.javascript),
  ignore_https_errors: unset(OPTIONS.ignore_https_errors),
  certificate_authorities: unset(OPTIONS.certificate_authorities),
  max_download_bytes: unset(OPTIONS.max_download_bytes),
  http_credentials: unset(OPTIONS.http_credentials),
  block: unset(OPTIONS.block),
};

/** The options in a record of their own, with those that are set. */
export const BrowserOptions = z.strictObject(OPTIONS).partial().openapi("BrowserOptions");
export type BrowserOptions = z.infer<typeof BrowserOptions>;

/** Whatever has some of the options among others. */
export type SomeBrowserOptions = {
  readonly [Name in BrowserOptionName]?: BrowserOptions[Name] | null;
};

/** What a device brings: what is said below the layer that names it does not fit it. */
const OF_DEVICE: readonly BrowserOptionName[] = ["user_agent", "viewport"];

/** Each option from the first of `layers` that sets it (rules/browser-options#who-decides); null when nobody sets any. */
export function mergeBrowserOptions(
  layers: readonly (SomeBrowserOptions | null | undefined)[],
): BrowserOptions | null {
  const above = layers.slice(0, layers.findIndex((layer) => layer?.device != null) + 1);
  const entries = BROWSER_OPTION_NAMES.flatMap((name) => {
    const asked = OF_DEVICE.includes(name) && above.length > 0 ? above : layers;
    const value = asked.map((layer) => layer?.[name]).find((one) => one != null);
    return value === undefined ? [] : [[name, value] as const];
  });
  return entries.length === 0 ? null : (Object.fromEntries(entries) as BrowserOptions);
}

/** The options that are set and that a worker which reports `known` cannot show. */
export const unknownOptions = (
  asked: SomeBrowserOptions,
  known: readonly string[],
): BrowserOptionName[] =>
  BROWSER_OPTION_NAMES.filter((name) => asked[name] != null && !known.includes(name));

/** Why a worker does not report these options. It may be of the version before authorities. */
export const lackOf = (worker_id: string, names: readonly BrowserOptionName[]): string =>
  names.join() === "certificate_authorities"
    ? `worker ${worker_id} has no certutil: install ${LANE_PACKAGES.authorities.join(" ")} there and restart it, or update it`
    : `worker ${worker_id} is of a version that cannot do it`;

const NAMES: ReadonlySet<string> = new Set(BROWSER_OPTION_NAMES);

/** Everything of `given` but these options. */
export function withoutBrowserOptions<T extends SomeBrowserOptions>(
  given: T,
): Omit<T, BrowserOptionName> {
  const rest = Object.entries(given).filter(([name]) => !NAMES.has(name));
  return Object.fromEntries(rest) as Omit<T, BrowserOptionName>;
}

/**
 * What a worker can show of what a hub says: a hub of a later version may know devices, permissions and rules that it does
 * not.
 */
export function readBrowserOptions(given: Readonly<Record<string, unknown>>): {
  options: BrowserOptions;
  left_out: string[];
} {
  const options: Record<string, unknown> = {};
  const left_out: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const read = Object.hasOwn(OPTIONS, name)
      ? OPTIONS[name as BrowserOptionName].safeParse(value)
      : null;
    if (read?.success) options[name] = read.data;
    else left_out.push(name);
  }
  return { options, left_out };
}
