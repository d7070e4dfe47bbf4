import SearchX from "icon:search-x";
import { useTranslation } from "react-i18next";
import { Route, Switch } from "wouter";
import { HomePage } from "../pages/home.tsx";
import { lazyComponent } from "../parts/loadable.ts";
import { Empty, Loading } from "../parts/states.tsx";
import { addresses, base, decoded } from "./addresses.ts";

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

const loading = <PageLoading />;
const ChatPage = lazyComponent(async () => (await import("../pages/chat/chat-page.tsx")).ChatPage, loading);
const InboxPage = lazyComponent(async () => (await import("../pages/inbox.tsx")).InboxPage, loading);
const RunsPage = lazyComponent(async () => (await import("../pages/runs/runs-page.tsx")).RunsPage, loading);
const RunPage = lazyComponent(async () => (await import("../pages/run/run-page.tsx")).RunPage, loading);
const ComparePage = lazyComponent(async () => (await import("../pages/compare/compare-page.tsx")).ComparePage, loading);
const ContextPage = lazyComponent(async () => (await import("../pages/context/context-page.tsx")).ContextPage, loading);
const GraphsPage = lazyComponent(async () => (await import("../pages/graph/graphs-page.tsx")).GraphsPage, loading);
const GraphPage = lazyComponent(async () => (await import("../pages/graph/graph-page.tsx")).GraphPage, loading);
const PromptsPage = lazyComponent(async () => (await import("../pages/prompts/prompts-page.tsx")).PromptsPage, loading);
const ModelsPage = lazyComponent(async () => (await import("../pages/models/models-page.tsx")).ModelsPage, loading);
const AgentsPage = lazyComponent(async () => (await import("../pages/agents/agents-page.tsx")).AgentsPage, loading);
const FilesPage = lazyComponent(async () => (await import("../pages/files/files-page.tsx")).FilesPage, loading);
const CircuitsPage = lazyComponent(
  async () => (await import("../pages/circuits/circuits-page.tsx")).CircuitsPage,
  loading,
);
const ToolsPage = lazyComponent(async () => (await import("../pages/tools/tools-page.tsx")).ToolsPage, loading);
const StorePage = lazyComponent(async () => (await import("../pages/store/store-page.tsx")).StorePage, loading);
const MemoryPage = lazyComponent(async () => (await import("../pages/memory/memory-page.tsx")).MemoryPage, loading);
const CronsPage = lazyComponent(async () => (await import("../pages/crons/crons-page.tsx")).CronsPage, loading);
const TasksPage = lazyComponent(async () => (await import("../pages/tasks/tasks-page.tsx")).TasksPage, loading);
const SettingsPage = lazyComponent(
  async () => (await import("../pages/settings/settings-page.tsx")).SettingsPage,
  loading,
);

/** The pages that have a file of their own. */
const pages = {
  chat: ChatPage,
  inbox: InboxPage,
  runs: RunsPage,
  run: RunPage,
  compare: ComparePage,
  context: ContextPage,
  graphs: GraphsPage,
  graph: GraphPage,
  prompts: PromptsPage,
  models: ModelsPage,
  agents: AgentsPage,
  files: FilesPage,
  circuits: CircuitsPage,
  tools: ToolsPage,
  store: StorePage,
  memory: MemoryPage,
  crons: CronsPage,
  tasks: TasksPage,
  settings: SettingsPage,
};

/** Preloads what the user needs soon; where that cannot be loaded now, the place that needs it says so. */
export function loadAhead(...names: (keyof typeof pages)[]): void {
  for (const name of names) pages[name].ahead();
}

/** Places that are shown by a page of another name. */
const pageOfPlace: Readonly<Record<string, keyof typeof pages>> = {
  identity: "prompts",
  vendors: "models",
  roles: "models",
  statistics: "models",
  rules: "agents",
  changes: "files",
  mcp: "tools",
  docs: "tools",
  server: "settings",
  "web-search": "settings",
};

const ahead = [
  "inbox",
  "runs",
  "compare",
  "prompts",
  "models",
  "agents",
  "files",
  "tools",
  "store",
  "memory",
  "crons",
  "circuits",
  "tasks",
  "settings",
] as const;

/** Begins to load the page of an address before it is known who is signed in. */
export function loadPageOf(path: string): void {
  const [, place = "", , part] = path.slice(base.length).split("/");
  if (place === "t") loadAhead(part === "run" || part === "context" ? part : "chat");
  const page = pageOfPlace[place] ?? ahead.find((one) => one === place);
  if (page !== undefined) loadAhead(page);
}

/** What is one page under several addresses stays as it is from one to the next. */
export function pageOf(location: string): string {
  return samePages.find(([addresses]) => addresses.test(location))?.[1] ?? location;
}

const samePages = [
  [/^\/(?:prompts|identity)(?:\/|$)/u, "/prompts"],
  [/^\/(?:models|vendors|roles|statistics)(?:\/|$)/u, "/models"],
  [/^\/(?:tools|mcp|docs)(?:\/|$)/u, "/tools"],
  [/^\/crons(?:\/|$)/u, "/crons"],
  [/^\/memory(?:\/|$)/u, "/memory"],
  [/^\/(?:agents|rules)(?:\/|$)/u, "/agents"],
  [/^\/(?:files|changes)(?:\/|$)/u, "/files"],
  [/^\/(?:settings|server|web-search)(?:\/|$)/u, "/settings"],
] as const;

/** What is most likely opened next from a place. */
export function pageAfter(location: string): keyof typeof pages {
  if (location === "/g") return "graph";
  return location === "/runs" ? "run" : "chat";
}

/** The place that the address names. A page of its own file is loaded when it is first opened. */
export function Places() {
  const { t } = useTranslation();
  return (
    <Switch>
      <Route path={addresses.home}>
        <HomePage />
      </Route>
      <Route path={addresses.thread}>{({ thread }) => <ChatPage key={thread} threadId={decoded(thread)} />}</Route>
      <Route path={addresses.run}>
        {({ thread, run }) => <RunPage key={run} threadId={decoded(thread)} runId={decoded(run)} />}
      </Route>
      <Route path={addresses.context}>{({ thread }) => <ContextPage key={thread} threadId={decoded(thread)} />}</Route>
      <Route path={addresses.inbox}>
        <InboxPage />
      </Route>
      <Route path={addresses.runs}>
        <RunsPage />
      </Route>
      <Route path={addresses.compare}>
        <ComparePage />
      </Route>
      <Route path={addresses.graphs}>
        <GraphsPage />
      </Route>
      <Route path={addresses.graph}>
        {({ assistant }) => <GraphPage key={assistant} assistantId={decoded(assistant)} />}
      </Route>
      <Route path={addresses.prompts}>{({ name }) => <PromptsPage kind="prompt" name={name && decoded(name)} />}</Route>
      <Route path={addresses.identities}>
        {({ name }) => <PromptsPage kind="identity" name={name && decoded(name)} />}
      </Route>
      <Route path={addresses.models}>{({ name }) => <ModelsPage part="models" name={name && decoded(name)} />}</Route>
      <Route path={addresses.vendors}>{({ name }) => <ModelsPage part="vendors" name={name && decoded(name)} />}</Route>
      <Route path={addresses.roles}>
        <ModelsPage part="roles" />
      </Route>
      <Route path={addresses.statistics}>
        <ModelsPage part="statistics" />
      </Route>
      <Route path={addresses.tools}>{({ name }) => <ToolsPage part="tools" name={name && decoded(name)} />}</Route>
      <Route path={addresses.mcp}>{({ name }) => <ToolsPage part="mcp" name={name && decoded(name)} />}</Route>
      <Route path={addresses.docs}>
        <ToolsPage part="docs" />
      </Route>
      <Route path={addresses.agents}>{({ name }) => <AgentsPage part="agents" name={name && decoded(name)} />}</Route>
      <Route path={addresses.rules}>
        <AgentsPage part="rules" />
      </Route>
      <Route path={addresses.files}>
        <FilesPage part="files" />
      </Route>
      <Route path={addresses.changes}>
        <FilesPage part="changes" />
      </Route>
      <Route path={addresses.circuits}>
        <CircuitsPage />
      </Route>
      <Route path={addresses.store}>
        <StorePage />
      </Route>
      <Route path={addresses.memory}>{({ id }) => <MemoryPage id={id && decoded(id)} />}</Route>
      <Route path={addresses.crons}>{({ id }) => <CronsPage id={id && decoded(id)} />}</Route>
      <Route path={addresses.tasks}>
        <TasksPage />
      </Route>
      <Route path={addresses.settings}>
        <SettingsPage part="settings" />
      </Route>
      <Route path={addresses.server}>
        <SettingsPage part="server" />
      </Route>
      <Route path={addresses.webSearch}>
        <SettingsPage part="search" />
      </Route>
      <Route>
        <Empty icon={<SearchX />} title={t("state.gone")} hint={t("state.goneHint")} isPage />
      </Route>
    </Switch>
  );
}
