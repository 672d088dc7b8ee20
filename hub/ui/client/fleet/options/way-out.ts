import type { EgressMode, EgressOption } from "#shared/protocol/egress.ts";

/** The way out as the form has it: lists as people write them, "" for what is unset. */
export interface WayOutValues {
  egress_mode: EgressMode | "";
  egress_allow: string;
  egress_deny: string;
  /** A URL, with its login where it has one. */
  proxy: string;
}

export const NO_WAY_OUT: WayOutValues = {
  egress_mode: "",
  egress_allow: "",
  egress_deny: "",
  proxy: "",
};

const listOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** For the body of a session or the options of a job: only what was set. */
export function wayOutOf({ egress_mode, egress_allow, egress_deny, proxy }: WayOutValues): {
  egress?: EgressOption;
  proxy?: string;
} {
  const [allow, deny] = [listOf(egress_allow), listOf(egress_deny)];
  const narrows = egress_mode !== "" || allow.length > 0 || deny.length > 0;
  return {
    ...(narrows && { egress: { mode: egress_mode === "" ? null : egress_mode, allow, deny } }),
    ...(proxy.trim() !== "" && { proxy: proxy.trim() }),
  };
}

/** A proxy's URL, with or without a scheme, as it may be shown. */
export const withoutLogin = (proxy: string): string =>
  proxy.replace(/^([a-z0-9]+:\/\/)?.*@/i, "$1***@");
