import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { Host } from "#shared/protocol/schema/host.ts";
import { seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { timeText } from "../../lib/units.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { Clip } from "../../parts/text.tsx";
import { changeCookies, cookieKey } from "./cookie-changes.ts";
import { CookieForm } from "./cookie-form.tsx";
import { CookiesJson } from "./cookies-json.tsx";

const expiryText = ({ expires }: StoredCookie): string =>
  expires < 0 ? "with the browser" : timeText(new Date(expires * 1_000).toISOString());

type Open = "json" | "new" | StoredCookie | null;

/** Cookies that jobs on the host receive. Their values are never shown. */
export function CookiesTab({ host }: { host: Host }) {
  const { host: name, cookies } = host;
  const [open, setOpen] = useState<Open>(null);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const remove = useChange(
    (keys: Set<string>) =>
      changeCookies(name, (now) => now.filter((cookie) => !keys.has(cookieKey(cookie)))),
    {
      done: (_, keys) => (keys.size === 1 ? "The cookie was deleted" : "The cookies were deleted"),
      failed: "The cookies were not deleted",
      onDone: () => setSelected(new Set()),
    },
  );
  const chosen = new Set(cookies.map(cookieKey).filter((key) => selected.has(key)));
  const close = () => setOpen(null);
  const columns: Column<StoredCookie>[] = [
    {
      key: "name",
      title: "Name",
      width: "minmax(110px, 1.5fr)",
      cell: (one) => <Clip text={one.name} mono />,
    },
    {
      key: "value",
      title: "Value",
      width: "70px",
      from: "sm",
      cell: () => <Text size="sm">hidden</Text>,
    },
    {
      key: "domain",
      title: "Domain",
      width: "minmax(110px, 1.5fr)",
      cell: (one) => <Clip text={one.domain} mono />,
    },
    {
      key: "path",
      title: "Path",
      width: "minmax(50px, 0.6fr)",
      from: "md",
      cell: (one) => <Clip text={one.path} mono />,
    },
    {
      key: "expires",
      title: "Ends",
      width: "minmax(190px, 1fr)",
      from: "md",
      cell: (one) => <Clip text={expiryText(one)} />,
    },
    {
      key: "flags",
      title: "Flags",
      width: "220px",
      from: "lg",
      cell: (one) => (
        <Group gap={4} wrap="nowrap">
          {[one.secure && "Secure", one.http_only && "HttpOnly", one.same_site]
            .filter((flag) => flag !== false)
            .map((flag) => (
              <Badge key={flag} className="status" size="sm" variant="light" color="gray">
                {flag}
              </Badge>
            ))}
        </Group>
      ),
    },
  ];
  const add = (
    <>
      <Button size="xs" leftSection={<IconPlus size={16} />} onClick={() => setOpen("new")}>
        Add a cookie
      </Button>
      <Button size="xs" variant="default" onClick={() => setOpen("json")}>
        Replace all with JSON
      </Button>
    </>
  );
  return (
    <Stack gap="sm">
      {cookies.length === 0 ? (
        <Empty
          title="No cookies"
          action={<Group gap="xs">{add}</Group>}
          command={`curl -X PUT ${location.origin}/hosts/${seg(name)}/cookies -H 'content-type: application/json' -d '{"cookies": [{"name": "sid", "value": "abc123", "domain": "${name}"}]}'`}
        >
          Jobs on this host start without cookies. The browser extension sends those of your own
          browser: see Profiles.
        </Empty>
      ) : (
        <>
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              Values are secret: they can be replaced but not read.
            </Text>
            <Group gap="xs">
              <ConfirmButton
                size="xs"
                color="red"
                variant="light"
                disabled={chosen.size === 0}
                loading={remove.isPending}
                question={
                  chosen.size === 1 ? "Delete this cookie?" : `Delete ${chosen.size} cookies?`
                }
                text="New jobs will not receive them."
                confirm="Delete"
                onConfirm={() => remove.mutate(chosen)}
              >
                Delete selected
              </ConfirmButton>
              {add}
            </Group>
          </Group>
          <DataTable
            label="Cookies"
            columns={columns}
            rows={cookies}
            rowKey={cookieKey}
            onOpen={setOpen}
            selected={chosen}
            onSelect={setSelected}
          />
        </>
      )}
      {open === "json" && <CookiesJson host={name} cookies={cookies} onClose={close} />}
      {open !== null && open !== "json" && (
        <CookieForm host={name} cookie={open === "new" ? null : open} onClose={close} />
      )}
    </Stack>
  );
}
