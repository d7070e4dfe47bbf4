import SearchX from "icon:search-x";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Route, Switch } from "wouter";
import { HomePage } from "../pages/home.tsx";
import { Empty, Loading } from "../parts/states.tsx";
import { addresses, base } from "./addresses.ts";

/** The pages that have a file of their own. */
const pages = {
  chat: () => import("../pages/chat/chat-page.tsx"),
  inbox: () => import("../pages/inbox.tsx"),
  runs: () => import("../pages/runs/runs-page.tsx"),
  run: () => import("../pages/run/run-page.tsx"),
  context: () => import("../pages/context/context-page.tsx"),
  graphs: () => import("../pages/graph/graphs-page.tsx"),
  graph: () => import("../pages/graph/graph-page.tsx"),
  prompts: () => import("../pages/prompts/prompts-page.tsx"),
  models: () => import("../pages/models/models-page.tsx"),
  tools: () => import("../pages/tools/tools-page.tsx"),
  files: () => import("../pages/files/files-page.tsx"),
  store: () => import("../pages/store/store-page.tsx"),
  crons: () => import("../pages/crons/crons-page.tsx"),
  settings: () => import("../pages/settings/settings-page.tsx"),
};
const ChatPage = lazy(async () => ({ default: (await pages.chat()).ChatPage }));
const InboxPage = lazy(async () => ({ default: (await pages.inbox()).InboxPage }));
const RunsPage = lazy(async () => ({ default: (await pages.runs()).RunsPage }));
const RunPage = lazy(async () => ({ default: (await pages.run()).RunPage }));
const ContextPage = lazy(async () => ({ default: (await pages.context()).ContextPage }));
const GraphsPage = lazy(async () => ({ default: (await pages.graphs()).GraphsPage }));
const GraphPage = lazy(async () => ({ default: (await pages.graph()).GraphPage }));
const PromptsPage = lazy(async () => ({ default: (await pages.prompts()).PromptsPage }));
const ModelsPage = lazy(async () => ({ default: (await pages.models()).ModelsPage }));
const ToolsPage = lazy(async () => ({ default: (await pages.tools()).ToolsPage }));
const FilesPage = lazy(async () => ({ default: (await pages.files()).FilesPage }));
const StorePage = lazy(async () => ({ default: (await pages.store()).StorePage }));
const CronsPage = lazy(async () => ({ default: (await pages.crons()).CronsPage }));
const SettingsPage = lazy(async () => ({ default: (await pages.settings()).SettingsPage }));

/** Loads what somebody needs soon; where that cannot be loaded now, the place that needs it says so. */
export function loadAhead(...names: (keyof typeof pages)[]): void {
  for (const name of names) pages[name]().catch(() => undefined);
}

/** Begins to load the page of an address before it is known who is signed in. */
export function loadPageOf(path: string): void {
  const [, place, , part] = path.slice(base.length).split("/");
  if (place === "t") loadAhead(part === "run" || part === "context" ? part : "chat");
  else if (place === "inbox") loadAhead("inbox");
  else if (place === "runs") loadAhead("runs");
  else if (place === "prompts" || place === "identity") loadAhead("prompts");
  else if (place === "models" || place === "vendors" || place === "roles") loadAhead("models");
  else if (place === "tools" || place === "store" || place === "crons") loadAhead(place);
  else if (place === "files" || place === "changes") loadAhead("files");
  else if (place === "settings" || place === "server") loadAhead("settings");
}

/** What is one page under several addresses stays as it is from one to the next. */
export function pageOf(location: string): string {
  return samePages.find(([addresses]) => addresses.test(location))?.[1] ?? location;
}

const samePages = [
  [/^\/(?:prompts|identity)(?:\/|$)/u, "/prompts"],
  [/^\/(?:models|vendors|roles)(?:\/|$)/u, "/models"],
  [/^\/tools(?:\/|$)/u, "/tools"],
  [/^\/crons(?:\/|$)/u, "/crons"],
  [/^\/(?:files|changes)(?:\/|$)/u, "/files"],
  [/^\/(?:settings|server)(?:\/|$)/u, "/settings"],
] as const;

/** What is most likely opened next from a place. */
export function pageAfter(location: string): keyof typeof pages {
  if (location === "/g") return "graph";
  return location === "/runs" ? "run" : "chat";
}

/** A page whose file is not there yet. */
export function PageLoading() {
  const { t } = useTranslation();
  return (
    <>
      <h1 className="visually-hidden">{t("state.loading")}</h1>
      <Loading />
    </>
  );
}

/** The place that the address names. A page of its own file is loaded when it is first opened. */
export function Places() {
  const { t } = useTranslation();
  return (
    <Suspense fallback={<PageLoading />}>
      <Switch>
        <Route path={addresses.home}>
          <HomePage />
        </Route>
        <Route path={addresses.thread}>
          {({ thread }) => <ChatPage key={thread} threadId={decodeURIComponent(thread)} />}
        </Route>
        <Route path={addresses.run}>
          {({ thread, run }) => (
            <RunPage key={run} threadId={decodeURIComponent(thread)} runId={decodeURIComponent(run)} />
          )}
        </Route>
        <Route path={addresses.context}>
          {({ thread }) => <ContextPage key={thread} threadId={decodeURIComponent(thread)} />}
        </Route>
        <Route path={addresses.inbox}>
          <InboxPage />
        </Route>
        <Route path={addresses.runs}>
          <RunsPage />
        </Route>
        <Route path={addresses.graphs}>
          <GraphsPage />
        </Route>
        <Route path={addresses.graph}>
          {({ assistant }) => <GraphPage key={assistant} assistantId={decodeURIComponent(assistant)} />}
        </Route>
        <Route path={addresses.prompts}>
          {({ name }) => <PromptsPage kind="prompt" name={name && decodeURIComponent(name)} />}
        </Route>
        <Route path={addresses.identities}>
          {({ name }) => <PromptsPage kind="identity" name={name && decodeURIComponent(name)} />}
        </Route>
        <Route path={addresses.models}>
          {({ name }) => <ModelsPage part="models" name={name && decodeURIComponent(name)} />}
        </Route>
        <Route path={addresses.vendors}>
          {({ name }) => <ModelsPage part="vendors" name={name && decodeURIComponent(name)} />}
        </Route>
        <Route path={addresses.roles}>
          <ModelsPage part="roles" />
        </Route>
        <Route path={addresses.tools}>{({ name }) => <ToolsPage name={name && decodeURIComponent(name)} />}</Route>
        <Route path={addresses.files}>
          <FilesPage part="files" />
        </Route>
        <Route path={addresses.changes}>
          <FilesPage part="changes" />
        </Route>
        <Route path={addresses.store}>
          <StorePage />
        </Route>
        <Route path={addresses.crons}>{({ id }) => <CronsPage id={id && decodeURIComponent(id)} />}</Route>
        <Route path={addresses.settings}>
          <SettingsPage part="settings" />
        </Route>
        <Route path={addresses.server}>
          <SettingsPage part="server" />
        </Route>
        <Route>
          <Empty icon={<SearchX />} title={t("state.gone")} hint={t("state.goneHint")} isPage />
        </Route>
      </Switch>
    </Suspense>
  );
}
