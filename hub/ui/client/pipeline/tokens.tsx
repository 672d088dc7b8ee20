import { Badge, Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import type { CreatedToken, Token } from "#shared/protocol/schema/token.ts";
import { useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { NewToken } from "./tokens/new-token.tsx";
import { ShownToken } from "./tokens/shown-token.tsx";

const EVERY_MS = 15_000;

function Revoke({ token }: { token: Token }) {
  const revoke = useChange(() => call("DELETE /tokens/{id}", { params: { id: token.token_id } }), {
    done: `${token.name} was revoked`,
    failed: "The token was not revoked",
  });
  return (
    <ConfirmButton
      size="compact-xs"
      color="red"
      variant="light"
      question={`Revoke ${token.name}?`}
      text="It stops working at once, and browsers that logged in with it are logged out."
      confirm="Revoke it"
      loading={revoke.isPending}
      onConfirm={() => revoke.mutate(undefined)}
    >
      Revoke
    </ConfirmButton>
  );
}

const COLUMNS: Column<Token>[] = [
  {
    key: "name",
    title: "Name",
    width: "minmax(110px, 2fr)",
    cell: ({ name }) => <Clip text={name} />,
  },
  {
    key: "role",
    title: "Role",
    width: "120px",
    cell: ({ role }) => (
      <Badge variant="default" className="status">
        {role}
      </Badge>
    ),
  },
  {
    key: "made",
    title: "Made",
    width: "120px",
    from: "md",
    cell: ({ created_at }) => <Ago at={created_at} />,
  },
  {
    key: "used",
    title: "Last used",
    width: "120px",
    from: "sm",
    cell: ({ last_used_at }) => (last_used_at === null ? "never" : <Ago at={last_used_at} />),
  },
  {
    key: "expires",
    title: "Expires",
    width: "130px",
    from: "sm",
    cell: ({ expires_at, expired }) =>
      expires_at === null ? "never" : expired ? "expired" : <Ago at={expires_at} />,
  },
  {
    key: "revoke",
    title: "",
    width: "90px",
    align: "end",
    cell: (token) => <Revoke token={token} />,
  },
];

/** Tokens with roles: who may view, submit, operate and administer. */
export function Page() {
  const [filters, set] = useFilters({ create: "" });
  const [made, setMade] = useState<CreatedToken | null>(null);
  const query = useGet(
    "/tokens",
    {},
    {
      // A person who does not want to log in is not asked again every few seconds.
      refetchInterval: ({ state }) => (state.status === "error" ? false : EVERY_MS),
    },
  );
  const create = () => set({ create: "1" }, { push: true });
  const close = () => {
    setMade(null);
    set({ create: "" });
  };
  const button = (
    <Button size="xs" leftSection={<IconPlus size={14} />} onClick={create}>
      New token
    </Button>
  );
  return (
    <>
      <PageHead
        title="Tokens"
        note="Each has a role: viewers look, submitters also submit work, operators also run the fleet, admins may do everything."
      >
        {button}
      </PageHead>
      <Loadable query={query}>
        {({ tokens }) => (
          <Beside
            name="tokens"
            title={made === null ? "New token" : made.name}
            detail={
              filters.create !== "" &&
              (made === null ? (
                <NewToken first={tokens.length === 0} onMade={setMade} />
              ) : (
                <ShownToken made={made} onDone={close} />
              ))
            }
            onClose={close}
          >
            {tokens.length === 0 ? (
              <Empty
                title="There is no token yet"
                command="flotilla tokens create me admin"
                action={button}
              >
                Once there is one, every call needs a token.
              </Empty>
            ) : (
              <DataTable
                label="Tokens"
                columns={COLUMNS}
                rows={tokens}
                rowKey={({ token_id }) => token_id}
              />
            )}
          </Beside>
        )}
      </Loadable>
    </>
  );
}
