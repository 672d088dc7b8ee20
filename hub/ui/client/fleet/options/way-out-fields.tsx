import { PasswordInput, Select, TextInput } from "@mantine/core";
import type { WayOutValues } from "./way-out.ts";

const MODES = [
  { value: "open", label: "Everywhere" },
  { value: "public", label: "Public addresses only" },
  { value: "listed", label: "Listed places only" },
];

interface WayOutFieldsProps {
  values: WayOutValues;
  set: (changed: Partial<WayOutValues>) => void;
  issueOf: (field: string) => string | undefined;
}

/** Where a browser may connect to, and through which proxy. */
export function WayOutFields({ values, set, issueOf }: WayOutFieldsProps) {
  return (
    <>
      <Select
        label="May connect to"
        description="Narrows what the worker allows"
        placeholder="Whatever the worker allows"
        clearable
        value={values.egress_mode || null}
        error={issueOf("egress")}
        onChange={(mode) => set({ egress_mode: (mode ?? "") as WayOutValues["egress_mode"] })}
        data={MODES}
      />
      <TextInput
        label="Also to"
        description="Addresses, CIDR ranges and host names, separated by commas"
        placeholder="10.0.0.0/8, *.example.com:443"
        value={values.egress_allow}
        onChange={(event) => set({ egress_allow: event.currentTarget.value })}
      />
      <TextInput
        label="Never to"
        value={values.egress_deny}
        onChange={(event) => set({ egress_deny: event.currentTarget.value })}
      />
      <PasswordInput
        label="Proxy"
        description="Its login is never shown again"
        placeholder="http://user:password@proxy.example.com:3128"
        autoComplete="off"
        value={values.proxy}
        error={issueOf("proxy")}
        onChange={(event) => set({ proxy: event.currentTarget.value })}
      />
    </>
  );
}
