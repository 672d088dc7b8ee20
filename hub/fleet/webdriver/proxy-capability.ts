import { isObject } from "#shared/kit/is-object.ts";
import { notCreated, wrong } from "./reading.ts";

const PLACE = /^[^/@\s]+$/;

/** The `proxy` capability as the option of a session; null where the client leaves it to the fleet. */
export function readProxy(given: unknown): { server: string; bypass?: string } | null {
  if (!isObject(given)) throw wrong("proxy must be an object");
  const { proxyType, httpProxy, sslProxy, socksProxy, socksVersion, noProxy } = given;
  if (proxyType === undefined && Object.keys(given).length === 0) return null;
  switch (String(proxyType).toLowerCase()) {
    case "system":
      return null;
    case "direct":
      throw notCreated(
        "proxy: which lanes connect without a proxy is the fleet's to say; leave it out",
      );
    case "pac":
    case "autodetect":
      throw notCreated("proxy: lanes run no PAC scripts; name the proxy itself (proxyType manual)");
    case "manual":
      break;
    default:
      throw wrong("proxy.proxyType must be manual, system, direct, pac or autodetect");
  }
  const web = [httpProxy, sslProxy].filter((one) => one !== undefined && one !== "");
  if (web.length > 0 && socksProxy !== undefined)
    throw notCreated("proxy: a lane has one proxy, of HTTP or SOCKS");
  if (new Set(web).size > 1) throw notCreated("proxy: httpProxy and sslProxy must be the same");
  const place = web[0] ?? socksProxy;
  if (typeof place !== "string" || !PLACE.test(place)) throw wrong("proxy must name HOST:PORT");
  if (web.length === 0 && socksVersion !== 5) throw notCreated("proxy.socksVersion must be 5");
  const server = `${web.length > 0 ? "http" : "socks5"}://${place}`;
  const bypass = Array.isArray(noProxy) ? noProxy.join(",") : noProxy;
  if (bypass !== undefined && typeof bypass !== "string")
    throw wrong("proxy.noProxy must be a list of hosts");
  return bypass ? { server, bypass } : { server };
}
