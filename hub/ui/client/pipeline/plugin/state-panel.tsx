import { Button, Group, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import { limitText } from "#shared/kit/words.ts";
import type { PluginState } from "#shared/protocol/schema/plugin.ts";
import { pluginLimits } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call, open } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { Loadable } from "../../parts/states.tsx";
import { Ago } from "../../parts/text.tsx";

const LIMITS = pluginLimits();

interface Read {
  state: PluginState;
  etag: string;
}

/** A value of a plugin: read, changed only over the version that was read, deleted. */
export function StatePanel(props: { slug: string; name: string; onDone: () => void }) {
  const { slug, name: key } = props;
  const query = useQuery<Read>({
    queryKey: ["plugin state", slug, key],
    queryFn: async ({ signal }) => {
      const of = { params: { slug, key }, signal };
      const response = await open("GET /api/v1/plugins/{slug}/state/{key}", of);
      const state = (await response.json()) as PluginState;
      return { state, etag: response.headers.get("etag") ?? "" };
    },
    // What is being edited is not replaced; saving reports when it has changed.
    refetchInterval: false,
    refetchOnWindowFocus: false,
    gcTime: 0,
  });
  return <Loadable query={query}>{(read) => <StateForm {...props} read={read} />}</Loadable>;
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

interface StateFormProps {
  slug: string;
  /** Null: a new key. */
  name: string | null;
  read: Read | null;
  onDone: () => void;
}

export function StateForm({ slug, name, read: given, onDone }: StateFormProps) {
  // The version that the text was made from, whatever is read later.
  const [read] = useState(given);
  const [key, setKey] = useState(name ?? "");
  const [text, setText] = useState(read ? JSON.stringify(read.state.value, null, 2) : "{}");
  const of = { params: { slug, key } };
  const save = useChange(
    () =>
      call("PUT /api/v1/plugins/{slug}/state/{key}", {
        ...of,
        json: JSON.parse(text),
        headers: read ? { "if-match": read.etag } : { "if-none-match": "*" },
      }),
    { done: `${key} stored`, failed: `${key} was not stored`, onDone, quiet: true },
  );
  const remove = useChange(() => call("DELETE /api/v1/plugins/{slug}/state/{key}", of), {
    done: `${key} deleted`,
    failed: `${key} was not deleted`,
    onDone,
  });
  const valid = isJson(text);
  const other = save.error instanceof FlotillaError && save.error.status === 412;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (valid && key !== "") save.mutate(undefined);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        {name === null && (
          <TextInput
            label="Key"
            description="May hold slashes"
            required
            data-autofocus
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
        )}
        {read && (
          <Text size="sm" c="dimmed">
            Changed <Ago at={read.state.updated_at} />
          </Text>
        )}
        <Textarea
          label="Value"
          description={`JSON, at most ${limitText(LIMITS.state)}`}
          autosize
          minRows={8}
          maxRows={24}
          spellCheck={false}
          classNames={{ input: "code-input" }}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          error={valid ? undefined : "This is not JSON"}
        />
        <FormErrors
          error={
            other
              ? new Error(
                  read
                    ? "The plugin has changed it in the meantime. Close this and open it again to see the current value."
                    : "There is already a value with this key.",
                )
              : save.error
          }
          title={`${key} was not stored`}
        />
        <Group justify="space-between">
          <Button type="submit" disabled={!valid || key === ""} loading={save.isPending}>
            Save
          </Button>
          {read && (
            <ConfirmButton
              question={`Delete ${key}?`}
              text="The plugin will no longer find it."
              confirm="Delete it"
              color="red"
              variant="light"
              loading={remove.isPending}
              onConfirm={() => remove.mutate(undefined)}
            >
              Delete
            </ConfirmButton>
          )}
        </Group>
      </Stack>
    </form>
  );
}
