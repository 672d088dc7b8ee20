import {
  Fieldset,
  Group,
  Input,
  PasswordInput,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import type { ReactNode } from "react";
import type { EgressMode, EgressOption } from "#shared/protocol/egress.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import { useTyped } from "./use-typed.ts";
import { egressWith, entriesOf, proxyWith, withLoginApart } from "./way-out.ts";

const MODES: { value: EgressMode; label: string }[] = [
  { value: "open", label: "Everywhere" },
  { value: "public", label: "Public addresses only" },
  { value: "listed", label: "Listed places only" },
];

interface FieldGroupProps {
  label: ReactNode;
  description: ReactNode;
  children: ReactNode;
}

/** Several fields that make up one setting, under its name as any single field's. */
export function FieldGroup({ label, description, children }: FieldGroupProps) {
  return (
    <Fieldset
      variant="unstyled"
      m={0}
      p={0}
      legend={
        <Text span size="sm" fw="var(--mantine-font-weight-medium)">
          {label}
        </Text>
      }
      styles={{ legend: { padding: 0, margin: 0 } }}
    >
      <Input.Description mb="xs">{description}</Input.Description>
      {children}
    </Fieldset>
  );
}

interface WayOutProps<Value> {
  value: Value | null;
  /** Of what is shown or typed anywhere in it. */
  error?: string | undefined;
  onChange: (value: Value | null) => void;
}

/** Where a browser may connect to. */
export function EgressFields({ value, error, onChange }: WayOutProps<EgressOption>) {
  const change = (changed: Partial<EgressOption>) => onChange(egressWith(value, changed));
  const { allow = [], deny = [] } = value ?? {};
  const wrong = error !== undefined;
  return (
    <Stack gap="sm">
      <Select
        label="May connect to"
        placeholder="Whatever the worker allows"
        clearable
        value={value?.mode ?? null}
        error={wrong && allow.length + deny.length === 0}
        onChange={(mode) => change({ mode: mode as EgressMode | null })}
        clearButtonProps={{ "aria-label": "Clear May connect to" }}
        data={MODES}
      />
      <EntriesInput
        label="Also to"
        description="Addresses, CIDR ranges and host names, separated by commas"
        placeholder="10.0.0.0/8, *.example.com:443"
        entries={allow}
        error={wrong && allow.length > 0}
        onChange={(allow) => change({ allow })}
      />
      <EntriesInput
        label="Never to"
        description="Wins over what is allowed"
        placeholder="*.example.net, 10.1.1.1"
        entries={deny}
        error={wrong && deny.length > 0}
        onChange={(deny) => change({ deny })}
      />
      {error && <Input.Error role="alert">{error}</Input.Error>}
    </Stack>
  );
}

interface EntriesInputProps {
  label: string;
  description: string;
  placeholder: string;
  entries: readonly string[];
  error: boolean;
  onChange: (entries: string[]) => void;
}

const inOneLine = (entries: readonly string[]): string => entries.join(", ");

export function EntriesInput({ entries, onChange, ...input }: EntriesInputProps) {
  const { shown, type } = useTyped<readonly string[]>(entries, entriesOf, inOneLine);
  return (
    <TextInput
      {...input}
      value={shown}
      onChange={(event) => onChange([...type(event.currentTarget.value)])}
    />
  );
}

/** The proxy that a browser goes out through. */
export function ProxyFields({ value, error, onChange }: WayOutProps<ProxyOption>) {
  const change = (changed: Partial<ProxyOption>) => onChange(proxyWith(value, changed));
  return (
    <Stack gap="sm">
      <TextInput
        label="Server of the proxy"
        description="http://, https:// or socks5://, a host and a port"
        placeholder="http://proxy.example.com:3128"
        autoComplete="off"
        value={value?.server ?? ""}
        error={value === null ? error : error !== undefined}
        onChange={(event) => change({ server: event.currentTarget.value })}
        onBlur={() => value && onChange(withLoginApart(value))}
      />
      {value && (
        <>
          <Group grow align="flex-start">
            <TextInput
              label="User name"
              autoComplete="off"
              value={value.username ?? ""}
              onChange={(event) => change({ username: event.currentTarget.value })}
            />
            <PasswordInput
              label="Password"
              autoComplete="new-password"
              value={value.password ?? ""}
              onChange={(event) => change({ password: event.currentTarget.value })}
            />
          </Group>
          <Input.Description>
            The login is sent only to the proxy; records show ***.
          </Input.Description>
          <TextInput
            label="Without the proxy"
            description="Host names, .example.com for all below it, addresses and CIDR ranges, separated by commas"
            placeholder=".example.com, 10.0.0.0/8"
            value={value.bypass ?? ""}
            onChange={(event) => change({ bypass: event.currentTarget.value })}
          />
          {error && <Input.Error role="alert">{error}</Input.Error>}
        </>
      )}
    </Stack>
  );
}
