import { useGet } from "../../lib/query.ts";

export interface Pick {
  choices: { value: string; label: string }[];
  /** Shown when there is nothing to choose from. */
  none: string;
}

/** What the fleet has for options that name something of it. */
export function usePicks(): Record<string, Pick> {
  const { data: engines } = useGet("/engines");
  const { data: profiles } = useGet("/profiles");
  const { data: hosts } = useGet("/hosts");
  const coding = engines?.engines.filter((engine) => engine.use_for_codegen) ?? [];
  return {
    codegen_engine: {
      choices: [
        ...(coding.length > 0 ? [{ value: "auto", label: "auto (the promoted engine)" }] : []),
        ...coding.map(({ slug, name, model }) => ({
          value: slug,
          label: `${name || slug} (${model})`,
        })),
      ],
      none: "No engine is marked for code generation: add one under Engines.",
    },
    use_profile: {
      choices: (profiles?.profiles ?? []).map(({ name, is_default }) => ({
        value: name,
        label: is_default ? `${name} (default)` : name,
      })),
      none: "No profile has been uploaded yet: add one under Profiles.",
    },
    cookies_from: {
      choices: (hosts?.hosts ?? [])
        .filter(({ cookies }) => cookies.length > 0)
        .map(({ host, cookies }) => ({
          value: host,
          label: `${host} (${cookies.length} cookies)`,
        })),
      none: "No host has cookies: add them under Hosts.",
    },
  };
}
