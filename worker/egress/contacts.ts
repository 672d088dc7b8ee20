import { placeOfUrl } from "#shared/protocol/egress-rules.ts";
import type { EgressError } from "./reach.ts";

/** Outcome of the last connection to a host and port. */
interface Contact {
  /** The address it was made to; null when it failed, or a proxy made it. */
  address: string | null;
  failure: EgressError | null;
}

/** The latest places that one browser connected to. */
export interface Contacts {
  made(host: string, port: number, address: string | null): void;
  /** The address that the last connection was made to. */
  at(host: string, port: number): string | null;
  failed(host: string, port: number, failure: EgressError): void;
  of(url: string): Contact | null;
  clear(): void;
}

const MAX_PLACES = 5_000;

export function createContacts(): Contacts {
  const places = new Map<string, Contact>();
  const keyOf = (host: string, port: number) => `${host.toLowerCase()} ${port}`;
  const put = (key: string, contact: Contact) => {
    places.delete(key);
    places.set(key, contact);
    const oldest = places.size > MAX_PLACES ? places.keys().next().value : undefined;
    if (oldest !== undefined) places.delete(oldest);
  };
  return {
    made: (host, port, address) => put(keyOf(host, port), { address, failure: null }),
    failed: (host, port, failure) => {
      const key = keyOf(host, port);
      // Bytes from an earlier connection still came from its address.
      put(key, { address: places.get(key)?.address ?? null, failure });
    },
    at: (host, port) => places.get(keyOf(host, port))?.address ?? null,
    of: (url) => {
      if (!URL.canParse(url)) return null;
      const { host, port } = placeOfUrl(url);
      return places.get(keyOf(host, port)) ?? null;
    },
    clear: () => places.clear(),
  };
}
