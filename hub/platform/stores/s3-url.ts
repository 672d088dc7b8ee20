import { ConfigError } from "#shared/kit/env.ts";

/** Keys that sign requests to S3. Never logged and never answered. */
export interface S3Keys {
  access_key_id: string;
  secret_access_key: string;
  session_token?: string | undefined;
}

/** Where the objects lie. */
export interface S3Place {
  /** URL of the bucket, without a slash at its end. */
  bucket_url: string;
  bucket: string;
  /** Origin of the server, without the bucket. */
  endpoint: string;
  /** Begins every key: empty, or ending with a slash. */
  prefix: string;
  region: string;
}

const PARAMETERS = ["endpoint", "region", "virtual_hosted"];
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION = /^[a-z0-9-]{1,64}$/;

const wrong = (why: string) => new ConfigError(`SVC_OBJECTS_URL: ${why}`);

/**
 * Reads `s3://bucket[/prefix][?endpoint=…&region=…&virtual_hosted=1]`. Without an endpoint, the bucket is Amazon's;
 * virtual_hosted puts the bucket's name before the host's, as Amazon and few others require.
 * @throws ConfigError naming SVC_OBJECTS_URL.
 */
export function readS3Url(text: string): S3Place {
  const url = URL.parse(text.trim());
  if (!url) throw wrong("is not a URL; use s3://bucket?endpoint=https://…");
  if (url.username !== "" || url.password !== "")
    throw wrong("must not hold keys; set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY");
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw wrong(`${JSON.stringify(unknown)} is none of ${PARAMETERS.join(", ")}`);
  const bucket = url.host;
  if (!BUCKET.test(bucket)) throw wrong(`${JSON.stringify(bucket)} is not the name of a bucket`);
  const region = url.searchParams.get("region") ?? "us-east-1";
  if (!REGION.test(region)) throw wrong(`${JSON.stringify(region)} is not a region`);
  const endpoint = readEndpoint(url.searchParams.get("endpoint"), region);
  const amazon = !url.searchParams.has("endpoint");
  const virtual = readFlag(url.searchParams.get("virtual_hosted"), amazon && !bucket.includes("."));
  return {
    bucket,
    endpoint: endpoint.origin,
    region,
    prefix: readPrefix(url.pathname),
    bucket_url: virtual
      ? `${endpoint.protocol}//${bucket}.${endpoint.host}`
      : `${endpoint.origin}/${bucket}`,
  };
}

function readEndpoint(given: string | null, region: string): URL {
  const url = URL.parse(given ?? `https://s3.${region}.amazonaws.com`);
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong("endpoint must be an http or https URL");
  if (url.pathname !== "/" || url.search !== "" || url.username !== "")
    throw wrong("endpoint must be a scheme, a host and a port alone");
  return url;
}

function readFlag(given: string | null, fallback: boolean): boolean {
  if (given === null) return fallback;
  if (given === "1" || given === "true") return true;
  if (given === "0" || given === "false") return false;
  throw wrong("virtual_hosted must be 1 or 0");
}

function readPrefix(path: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    throw wrong("the prefix is not percent-encoded");
  }
  const segments = decoded.split("/").filter((segment) => segment !== "");
  if (segments.some((segment) => segment === "." || segment === ".."))
    throw wrong("the prefix must not hold . or ..");
  return segments.map((segment) => `${segment}/`).join("");
}
