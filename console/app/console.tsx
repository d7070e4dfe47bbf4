import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Router, useLocation } from "wouter";
import { ApiError, whenRefused } from "../api/client.ts";
import { startFeed } from "../api/live/feed.ts";
import { currentKey, onKey } from "../api/key.ts";
import { queryClient, useCaller } from "../api/threads.ts";
import { Announcer } from "../parts/announcer.tsx";
import { Failed, messageOf } from "../parts/states.tsx";
import { overlays } from "../parts/overlay/overlays.ts";
import { PageBoundary } from "../parts/page-boundary.tsx";
import { Tooltips } from "../parts/overlay/tooltips.tsx";
import { Toasts } from "../parts/toast.tsx";
import { base } from "./addresses.ts";
import { loadAhead, pageAfter, PageLoading, pageOf, Places } from "./pages.tsx";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";
import { useWrittenLocation, useWrittenSearch } from "./written-address.ts";

/** The whole console: who signs in, the shell, and the place that the address names. */
export function Console() {
  return (
    <QueryClientProvider client={queryClient}>
      <Router base={base} hook={useWrittenLocation} searchHook={useWrittenSearch}>
        <SignedIn />
        <Toasts />
        <Announcer />
        <Tooltips />
      </Router>
    </QueryClientProvider>
  );
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
  // A server without the route needs no key.
  const isKnown = caller.data !== undefined || status === 404;
  useEffect(() => (isKnown ? startFeed() : undefined), [isKnown, key]);
  useEffect(() => {
    if (!isKnown) return undefined;
    // When the page has nothing else to do, and has been seen: what is loaded before would keep its first frame waiting.
    let idle = 0;
    const frame = requestAnimationFrame(() => {
      idle = requestIdleCallback(() => {
        loadAhead(pageAfter(location));
        overlays.ahead();
      });
    });
    return () => {
      cancelAnimationFrame(frame);
      cancelIdleCallback(idle);
    };
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
  // The rules of a server may refuse anonymous callers in their own words.
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
