import { Button, Group, Popover, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBookmark } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import type { SavedListPage } from "#shared/protocol/schema/saved-list.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";

const RULES = rulesOf("SaveList");

interface SaveListProps {
  page: SavedListPage;
  filters: Readonly<Record<string, string>>;
}

/** Asks for a name and saves the list as it is filtered now. */
export function SaveList({ page, filters }: SaveListProps) {
  const [opened, { close, toggle }] = useDisclosure(false);
  const [name, setName] = useState("");
  const save = useChange(
    (as: string) =>
      call("PUT /api/v1/saved-lists/{page}/{name}", {
        params: { page, name: as },
        json: { filters: { ...filters } },
      }),
    { failed: "The list was not saved", onDone: close },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") save.mutate(name.trim());
  };
  return (
    <Popover opened={opened} onChange={toggle} trapFocus withinPortal position="bottom-start">
      <Popover.Target>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<IconBookmark size={14} />}
          onClick={toggle}
        >
          Save this list
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Save this list">
        <form onSubmit={submit}>
          <Group align="end" gap="xs">
            <TextInput
              size="xs"
              label="Name of the list"
              description="Everybody sees it"
              maxLength={RULES.name.max_length}
              required
              data-autofocus
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button size="xs" type="submit" loading={save.isPending}>
              Save list
            </Button>
          </Group>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
