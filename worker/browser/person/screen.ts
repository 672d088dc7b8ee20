import { DEVICES, type Device } from "#shared/protocol/devices.gen.ts";
import type { BrowserOptions, Viewport } from "#shared/protocol/schema/browser-options.ts";
import type { CdpError, CdpSession, Protocol } from "../cdp/connection.ts";
import { pixelsScript, runFirst } from "./own-scripts.ts";
import { tellRefusal } from "./refusals.ts";

const MOST_FINGERS = 5;

const isChromium = /\bChrome\/[\d.]+/;

/** A device as a browser of the version that runs here would be on it. */
function deviceOf(name: string | undefined, product: string): Device | null {
  const device = name === undefined ? undefined : DEVICES[name];
  if (!device) return null;
  const [major = ""] = /\d+/.exec(product) ?? [];
  const { viewport, scale, mobile, touch } = device;
  const user_agent = device.user_agent.replace(isChromium, `Chrome/${major}.0.0.0`);
  return { user_agent, viewport, scale, mobile, touch };
}

/** The screen after the device preset is expanded: options given explicitly override the preset's. */
export interface Shown {
  options: BrowserOptions;
  device: Device | null;
  /** Hears of every command that the browser refuses. */
  onRefused(refusal: CdpError): void;
}

export function unfold(
  options: BrowserOptions,
  product: string,
  onRefused: Shown["onRefused"],
): Shown {
  const device = deviceOf(options.device, product);
  if (!device) return { options, device, onRefused };
  const { user_agent, viewport } = device;
  return { options: { user_agent, viewport, ...options }, device, onRefused };
}

/** A telephone or tablet is held as its page is wide. */
const orientationOf = ({ width, height }: Viewport): Protocol.Emulation.ScreenOrientation =>
  width > height ? { type: "landscapePrimary", angle: 90 } : { type: "portraitPrimary", angle: 0 };

/** The size of pages, and whether they are touched. Frames have the size of their page's boxes. */
export function showScreen(session: CdpSession, { options, device, onRefused }: Shown): void {
  const { viewport } = options;
  const tell = (answer: Promise<unknown>) => void tellRefusal(answer, onRefused);
  if (viewport && session.target?.type === "page")
    tell(
      session.send("Emulation.setDeviceMetricsOverride", {
        width: viewport.width,
        height: viewport.height,
        // 0 leaves it as it is.
        deviceScaleFactor: device?.scale ?? 0,
        mobile: device?.mobile ?? false,
        ...(device?.mobile && { screenOrientation: orientationOf(viewport) }),
      }),
    );
  // Chromium gives them to windows alone, and does not pass them on to frames in other processes.
  if (device && session.target?.type === "iframe") runFirst(session, pixelsScript(device.scale));
  if (device?.touch)
    tell(
      session.send("Emulation.setTouchEmulationEnabled", {
        enabled: true,
        maxTouchPoints: MOST_FINGERS,
      }),
    );
}
