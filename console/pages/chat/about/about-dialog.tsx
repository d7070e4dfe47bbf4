import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { threadAddress } from "../../../app/addresses.ts";
import type { ThreadDetails } from "../../../api/shapes.ts";
import { useAssistants, useOrigin, useThreadUsage, type ThreadUsage } from "../../../api/threads.ts";
import { CopyButton } from "../../../markdown/code.tsx";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { Failed, Loading } from "../../../parts/states.tsx";
import { count, longTime, money, percent } from "../../../text/time.ts";
import { Facts } from "../../facts.tsx";

/** What is known of a chat: who answers, since when, what its model calls used, and the chat that it is a copy of. */
export function AboutDialog({ details, onClose }: { details: ThreadDetails; onClose: () => void }) {
  const { t } = useTranslation();
  const { data, error, isPending, refetch } = useThreadUsage(details.thread_id);
  const assistants = useAssistants().data;
  const origin = useOrigin(details.thread_id).data;
  const [, navigate] = useLocation();
  const { thread_id, name, assistant_id, graph_id, created_at, updated_at, message_count } = details;
  const assistant = assistants?.find((known) => known.assistant_id === assistant_id)?.name ?? graph_id;
  return (
    <Dialog title={t("about.title")} onClose={onClose}>
      <div className="dialog-body">
        <Facts
          title={visible(name)}
          rows={[
            [t("about.assistant"), visible(assistant ?? "–")],
            [t("about.created"), longTime(created_at)],
            [t("about.changed"), longTime(updated_at)],
            [t("about.messages"), count(message_count)],
            [
              t("about.id"),
              <>
                <code>{thread_id}</code> <CopyButton text={thread_id} label={t("about.copyId")} />
              </>,
            ],
          ]}
        />
        {isPending && <Loading />}
        {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
        {data !== undefined && <Used total={data.session} />}
        {origin && (
          <Button
            onClick={() => {
              onClose();
              navigate(threadAddress(origin));
            }}
          >
            {t("about.origin")}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function Used({ total }: { total: ThreadUsage["session"] }) {
  const { t } = useTranslation();
  const { requests, prompt_tokens, cached_tokens, cache_hit_ratio, completion_tokens, cost } = total;
  const input = { tokens: count(prompt_tokens), cached: count(cached_tokens), share: percent(cache_hit_ratio) };
  return (
    <Facts
      title={t("about.usage")}
      rows={[
        [t("about.calls"), count(requests)],
        [t("about.input"), cached_tokens === 0 ? input.tokens : t("about.inputCached", input)],
        [t("about.output"), count(completion_tokens)],
        [t("about.cost"), cost === null ? t("about.noPrice") : money(cost)],
      ]}
    />
  );
}
