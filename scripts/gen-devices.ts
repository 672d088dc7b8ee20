import { devices } from "playwright-core";
import { generatedFile, writeOrCheck } from "./generated-page.ts";

/**
 * Writes the devices that Playwright knows, so that a hub can check a name without loading Playwright; `--check` only
 * compares.
 */

const made = Object.entries(devices).map(([name, device]) => {
  const { userAgent, viewport, deviceScaleFactor, isMobile, hasTouch } = device;
  const { width, height } = viewport;
  const of = {
    user_agent: userAgent,
    viewport: { width, height },
    scale: deviceScaleFactor,
    mobile: isMobile,
    touch: hasTouch,
  };
  return `  ${JSON.stringify(name)}: ${JSON.stringify(of)},`;
});

const text = `/** The devices of Playwright; written by \`bun run gen\`. */
export interface Device {
  user_agent: string;
  viewport: { width: number; height: number };
  /** Pixels of the screen for one of the page. */
  scale: number;
  mobile: boolean;
  touch: boolean;
}

export const DEVICES: Readonly<Record<string, Device>> = {
${made.join("\n")}
};
`;

await writeOrCheck([await generatedFile("shared/protocol/devices.gen.ts", text)]);
