import type Client from "better-sqlite3";

/**
 * The driver with the native library of this platform. Each entry requires its library by a fixed path, so a compiled
 * binary holds it; the driver's main entry looks for it in node_modules at run time.
 */
export async function loadDriver(): Promise<typeof Client> {
  if (process.platform === "linux" && process.arch === "x64")
    return (await import("better-sqlite3/linux-x64")).default;
  if (process.platform === "linux" && process.arch === "arm64")
    return (await import("better-sqlite3/linux-arm64")).default;
  if (process.platform === "darwin" && process.arch === "arm64")
    return (await import("better-sqlite3/darwin-arm64")).default;
  if (process.platform === "darwin" && process.arch === "x64")
    return (await import("better-sqlite3/darwin-x64")).default;
  return (await import("better-sqlite3")).default;
}
