import { optionalText, secretText, secretUrl } from "../env.ts";

/** Where spans go: the variables that every program with OpenTelemetry reads. */
export interface TracingSettings {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Null: the process has a name of its own. */
  service: string | null;
}

const HEADERS = /^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const headersOf = (raw: string): [name: string, value: string][] =>
  raw
    .split(",")
    .filter((pair) => pair.includes("="))
    .map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    });

/** Otherwise each call to the collector would fail for them. */
function areHeaders(pairs: [name: string, value: string][]): boolean {
  try {
    new Headers(pairs);
    return true;
  } catch {
    return false;
  }
}

const endpoint = () =>
  secretUrl().refine(
    (raw) => raw === undefined || /^https?:$/.test(URL.parse(raw)?.protocol ?? ""),
    { error: "must be an http:// or https:// URL" },
  );

export const OtelEnv = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint().describe(
    "OpenTelemetry collector that gets traces, OTLP over HTTP in JSON, e.g. `http://collector:4318`; unset: none are made.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: secretText()
    .refine((raw) => raw === undefined || (HEADERS.test(raw) && areHeaders(headersOf(raw))), {
      error: "must be name=value, comma-separated, as HTTP allows headers",
    })
    .describe("Headers for the collector, `name=value`, comma-separated, values percent-encoded."),
  OTEL_SERVICE_NAME: optionalText().describe(
    "Name of this process in traces; unset: `flotilla-hub`, `flotilla-control` or `flotilla-worker`.",
  ),
} as const;

type Values = { [K in keyof typeof OtelEnv]?: string | undefined };

/** Null: no traces are made. */
export function tracingOf(v: Values): TracingSettings | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_HEADERS: named = "" } = v;
  if (base === undefined) return null;
  const url = new URL(base);
  const headers = new Headers(headersOf(named));
  // No URL with a login can be asked.
  const login = [url.username, url.password].map(decoded).join(":");
  if (login !== ":" && !headers.has("authorization"))
    headers.set("authorization", `Basic ${Buffer.from(login).toString("base64")}`);
  url.username = "";
  url.password = "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return {
    url: url.href,
    headers: Object.fromEntries(headers),
    service: v.OTEL_SERVICE_NAME ?? null,
  };
}
