import { withQuery } from "../lib/http.ts";
import { FLEET_NAMES, pipelineName } from "../system/setting-names.ts";

/** A setting and the half of the server that it is of. */
export interface KnownSetting {
  key: string;
  part: "fleet" | "pipeline";
}

const MOST = 6;

const nameOf = ({ key, part }: KnownSetting): string =>
  part === "fleet" ? (FLEET_NAMES[key]?.name ?? key) : pipelineName(key);

/** Its row is scrolled to and gets the keyboard, or its panel opens. */
const hrefOf = ({ key, part }: KnownSetting): string =>
  withQuery("/ui/system/settings", part === "fleet" ? { part, setting: key } : { part, edit: key });

/** The settings whose name or key has every word. */
export const settingEntries = (settings: readonly KnownSetting[], words: readonly string[]) =>
  settings
    .filter((one) => {
      const text = `setting ${nameOf(one)} ${one.key.replace(/[._]/g, " ")} ${one.key}`;
      return words.every((word) => text.toLowerCase().includes(word));
    })
    .slice(0, MOST)
    .map((one) => ({
      id: `setting ${one.part} ${one.key}`,
      label: nameOf(one),
      description: `Setting · ${one.key}`,
      href: hrefOf(one),
    }));
