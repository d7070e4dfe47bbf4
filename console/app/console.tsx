import { QueryClientProvider } from "@tanstack/react-query";
import SearchX from "icon:search-x";
import { lazy, Suspense, useEffect, useState } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import { ApiError, whenRefused } from "../api/client.ts";
import { startFeed } from "../api/live/feed.ts";
import { currentKey, onKey } from "../api/key.ts";
import { queryClient, useCaller } from "../api/threads.ts";
import { HomePage } from "../pages/home.tsx";
import { Announcer } from "../parts/announcer.tsx";
import { Empty, Failed, Loading, messageOf } from "../parts/states.tsx";
import { overlays } from "../parts/overlay/overlays.ts";
import { PageBoundary } from "../parts/page-boundary.tsx";
import { Tooltips } from "../parts/overlay/tooltips.tsx";
import { Toasts } from "../parts/toast.tsx";
import { useTranslation } from "react-i18next";
import { addresses, base } from "./addresses.ts";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";

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
};
const ChatPage = lazy(async () => ({ default: (await pages.chat()).ChatPage }));
const InboxPage = lazy(async () => ({ default: (await pages.inbox()).InboxPage }));
const RunsPage = lazy(async () => ({ default: (await pages.runs()).RunsPage }));
const RunPage = lazy(async () => ({ default: (await pages.run()).RunPage }));
const ContextPage = lazy(async () => ({ default: (await pages.context()).ContextPage }));
const GraphsPage = lazy(async () => ({ default: (await pages.graphs()).GraphsPage }));
const GraphPage = lazy(async () => ({ default: (await pages.graph()).GraphPage }));
const PromptsPage = lazy(async () => ({ default: (await pages.prompts()).PromptsPage }));

/** Loads what somebody needs soon; where that cannot be loaded now, the place that needs it says so. */
function loadAhead(...names: (keyof typeof pages)[]): void {
  for (const name of names) pages[name]().catch(() => undefined);
}

/** Begins to load the page of an address before it is known who is signed in. */
export function loadPageOf(path: string): void {
  const [, place, , part] = path.slice(base.length).split("/");
  if (place === "t") loadAhead(part === "run" || part === "context" ? part : "chat");
  else if (place === "inbox") loadAhead("inbox");
  else if (place === "runs") loadAhead("runs");
  else if (place === "prompts" || place === "identity") loadAhead("prompts");
}

/** What is one page under several addresses stays as it is from one to the next. */
function pageOf(location: string): string {
  return /^\/(?:prompts|identity)(?:\/|$)/u.test(location) ? "/prompts" : location;
}

/** The whole console: who signs in, the shell, and the place that the address names. */
export function Console() {
  return (
    <QueryClientProvider client={queryClient}>
      <Router base={base}>
        <SignedIn />
        <Toasts />
        <Announcer />
        <Tooltips />
      </Router>
    </QueryClientProvider>
  );
}

/** What is most likely opened next from a place. */
function pageAfter(location: string): keyof typeof pages {
  if (location === "/g") return "graph";
  return location === "/runs" ? "run" : "chat";
}

function SignedIn() {
  const [location] = useLocation();
  const caller = useCaller();
  const [isRefused, setRefused] = useState(false);
  const [key, setKey] = useState(currentKey);
  useEffect(() => {
    whenRefused(() => setRefused(true));
    return onKey(() => {
      setRefused(false);
      setKey(currentKey());
      // What was asked with the key before would else count as the answer.
      void queryClient.cancelQueries().then(() => queryClient.invalidateQueries());
    });
  }, []);
  const error = caller.error;
  const status = error instanceof ApiError ? error.status : undefined;
  // A server without the route asks nobody for a key.
  const isKnown = caller.data !== undefined || status === 404;
  useEffect(() => (isKnown ? startFeed() : undefined), [isKnown, key]);
  useEffect(() => {
    if (!isKnown) return undefined;
    // When the page has nothing else to do.
    const idle = requestIdleCallback(() => {
      loadAhead(pageAfter(location));
      overlays.ahead();
    });
    return () => cancelIdleCallback(idle);
  }, [isKnown, location]);
  if (isKnown) {
    return (
      <>
        <Shell caller={caller.data}>
          <PageBoundary key={pageOf(location)}>
            <Places />
          </PageBoundary>
        </Shell>
        {isRefused && <SignIn isAgain />}
      </>
    );
  }
  if (status === 401) return <SignIn isAgain={false} />;
  // The rules of a server may refuse in their own words whoever says nothing of himself.
  if (status === 403) return <SignIn isAgain={false} refusal={messageOf(error)} />;
  if (error !== null) {
    return (
      <main className="sign-in">
        <Failed error={error} onRetry={() => void caller.refetch()} isPage />
      </main>
    );
  }
  return (
    <main>
      <PageLoading />
    </main>
  );
}

/** A page whose file is not there yet. */
function PageLoading() {
  const { t } = useTranslation();
  return (
    <>
      <h1 className="visually-hidden">{t("state.loading")}</h1>
      <Loading />
    </>
  );
}

/** The place that the address names. A page of its own file is loaded when it is first opened. */
function Places() {
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
        <Route>
          <Empty icon={<SearchX />} title={t("state.gone")} hint={t("state.goneHint")} isPage />
        </Route>
      </Switch>
    </Suspense>
  );
}
