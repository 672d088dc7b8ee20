import { Badge, Tabs } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useLocation } from "wouter";
import { FlotillaError } from "#shared/client/errors.ts";
import { useFilters } from "../lib/filters.ts";
import { call, seg } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago } from "../parts/text.tsx";
import { CookiesTab } from "./host/cookies-tab.tsx";
import { LoginTab } from "./host/login-tab.tsx";
import { RecipesTab } from "./host/recipes-tab.tsx";
import { SettingsTab } from "./host/settings-tab.tsx";

export function Page({ params }: { params: Record<string, string> }) {
  const name = params.host ?? "";
  const [filters, setFilters] = useFilters({ tab: "recipes", recipe: "" });
  const [, navigate] = useLocation();
  const query = useGet("/hosts/{host}", { params: { host: name } });
  const remove = useChange(() => call("DELETE /hosts/{host}", { params: { host: name } }), {
    done: `${name} was deleted`,
    failed: "The host was not deleted",
    onDone: () => navigate("/ui/library/hosts"),
  });
  const missing = query.error instanceof FlotillaError && query.error.status === 404;
  return (
    <>
      <PageHead
        title={name}
        crumbs={[{ title: "Hosts", href: "/ui/library/hosts" }]}
        note={
          query.data && (
            <>
              Changed <Ago at={query.data.updated_at} />
            </>
          )
        }
        more={
          query.data && !missing
            ? [
                {
                  label: "Delete host…",
                  icon: <IconTrash size={16} />,
                  danger: true,
                  onClick: () => remove.mutate(undefined),
                  ask: {
                    question: `Delete ${name}?`,
                    text: "Its recipes, login and cookies are deleted too. Running jobs keep what they were given.",
                    confirm: "Delete",
                  },
                },
              ]
            : []
        }
      />
      {missing ? (
        <Empty
          title="This host has no settings"
          command={`curl -X PUT ${location.origin}/hosts/${seg(name)} -H 'content-type: application/json' -d '{}'`}
        >
          It may have been deleted. Storing a recipe, a login or cookies for it creates it again.
        </Empty>
      ) : (
        <Loadable query={query}>
          {(host) => (
            <Tabs
              value={filters.tab}
              onChange={(tab) => setFilters({ tab: tab ?? "recipes", recipe: "" }, { push: true })}
              keepMounted={false}
            >
              <Tabs.List mb="md" aria-label="Settings of the host">
                <Tabs.Tab value="recipes" rightSection={<Count n={host.recipes.length} />}>
                  Recipes
                </Tabs.Tab>
                <Tabs.Tab value="login">Login</Tabs.Tab>
                <Tabs.Tab value="cookies" rightSection={<Count n={host.cookies.length} />}>
                  Cookies
                </Tabs.Tab>
                <Tabs.Tab value="settings">Settings</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="recipes">
                <RecipesTab
                  host={host}
                  opened={filters.recipe}
                  onOpen={(recipe) => setFilters({ recipe }, { push: true })}
                />
              </Tabs.Panel>
              <Tabs.Panel value="login">
                <LoginTab host={host} />
              </Tabs.Panel>
              <Tabs.Panel value="cookies">
                <CookiesTab host={host} />
              </Tabs.Panel>
              <Tabs.Panel value="settings">
                <SettingsTab host={host} />
              </Tabs.Panel>
            </Tabs>
          )}
        </Loadable>
      )}
    </>
  );
}

const Count = ({ n }: { n: number }) => (
  <Badge variant="light" color="gray" size="sm">
    {n}
  </Badge>
);
