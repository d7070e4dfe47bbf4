import CircleAlert from "icon:circle-alert";
import Lock from "icon:lock";
import SearchX from "icon:search-x";
import i18next from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client.ts";
import { readNextPage, type PagedQuery } from "../api/threads.ts";
import { Button } from "./button.tsx";

/** What a place shows where it has nothing to show. `isPage`: it is all that there is, so its title is that of the page. */
export function Empty({
  icon,
  title,
  hint,
  isPage = false,
  children,
}: {
  icon?: ReactNode;
  title: string;
  hint?: string;
  isPage?: boolean;
  children?: ReactNode;
}) {
  const Title = isPage ? "h1" : "p";
  return (
    <div className="blank">
      {icon !== undefined && <div className="blank-icon">{icon}</div>}
      <Title className="blank-title">{title}</Title>
      {hint !== undefined && <p className="blank-hint">{hint}</p>}
      {children}
    </div>
  );
}

/** What a place shows until it knows more: grey lines where words will be. */
export function Loading({ lines = 3 }: { lines?: number }) {
  const { t } = useTranslation();
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{t("state.loading")}</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className="loading-line" />
      ))}
    </div>
  );
}

/** What an error says; what the page itself has found, in the words of the page. */
export function messageOf(error: unknown): string {
  const { status, code } = error instanceof ApiError ? error : {};
  if (status === 0) return i18next.t("state.unreachable");
  if (code === "changed") return i18next.t("approval.changed");
  if (code === "unreadable") return i18next.t("state.unreadable");
  return error instanceof Error ? error.message : String(error);
}

/** What a place shows when the server refused, failed or does not know it. */
export function Failed({
  error,
  onRetry,
  gone,
  isPage = false,
}: {
  error: unknown;
  onRetry?: () => void;
  gone?: { title: string; hint: string };
  isPage?: boolean;
}) {
  const { t } = useTranslation();
  const problem = error instanceof ApiError ? error : undefined;
  if (problem?.status === 403)
    return (
      <Empty
        icon={<Lock />}
        title={t("state.forbidden")}
        hint={problem.message || t("state.forbiddenHint")}
        isPage={isPage}
      />
    );
  if (problem?.status === 404 || problem?.status === 422) {
    const { title, hint } = gone ?? { title: t("state.gone"), hint: t("state.goneHint") };
    return <Empty icon={<SearchX />} title={title} hint={hint} isPage={isPage} />;
  }
  const Title = isPage ? "h1" : "p";
  return (
    <div className="blank" role="alert">
      <div className="blank-icon blank-bad">
        <CircleAlert />
      </div>
      <Title className="blank-title">{t("state.failed")}</Title>
      <p className="blank-hint">{messageOf(error)}</p>
      {problem?.suggestion !== undefined && <p className="blank-hint">{problem.suggestion}</p>}
      {onRetry && <Button onClick={onRetry}>{t("app.retry")}</Button>}
      {problem?.requestId !== undefined && (
        <p className="blank-id">{t("state.requestId", { id: problem.requestId })}</p>
      )}
    </div>
  );
}

/** A button that reads the next page of a list, where there is one. */
export function NextPage<Page, Param>({ query, label }: { query: PagedQuery<Page, Param>; label: string }) {
  if (!query.hasNextPage) return null;
  return (
    <Button size="small" kind="quiet" disabled={query.isFetching} onClick={() => void readNextPage(query)}>
      {label}
    </Button>
  );
}
