import { Button, Group, Modal, Stack, Text, Textarea } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { asWritten, call } from "../../lib/http.ts";
import { errorText, useChange } from "../../lib/query.ts";
import { ErrorNote } from "../../parts/states.tsx";

interface CookiesJsonProps {
  host: string;
  cookies: readonly StoredCookie[];
  onClose: () => void;
}

/** All cookies as one list: saving deletes those that are not in it. */
export function CookiesJson({ host, cookies, onClose }: CookiesJsonProps) {
  const [text, setText] = useState(() => JSON.stringify(cookies, null, 2));
  const [unread, setUnread] = useState<string | null>(null);
  const save = useChange(
    (list: unknown) =>
      call("PUT /hosts/{host}/cookies", { params: { host }, json: { cookies: asWritten(list) } }),
    {
      done: (saved) => `The host has ${saved.cookies.length} cookies now`,
      failed: "The cookies were not replaced",
      quiet: true,
      onDone: onClose,
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    try {
      const list = JSON.parse(text);
      setUnread(null);
      save.mutate(list);
    } catch (err) {
      setUnread(errorText(err));
    }
  };
  return (
    <Modal opened onClose={onClose} title="Replace all cookies" size="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm">
            Cookies that are not in the list are deleted. The value <code>***</code> keeps the one
            that is stored.
          </Text>
          <Textarea
            data-autofocus
            label="JSON"
            autosize
            minRows={10}
            maxRows={24}
            spellCheck={false}
            styles={{ input: { fontFamily: "var(--mono)", fontSize: 12 } }}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            error={unread}
          />
          {save.error && <ErrorNote error={save.error} title="The cookies were not replaced" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red" loading={save.isPending}>
              Replace all cookies
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
