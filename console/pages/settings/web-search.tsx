import { useTranslation } from "react-i18next";
import { setSearchKey, useWebSearch, type WebSearch } from "../../api/shaping/web-search.ts";
import { useCaller } from "../../api/threads.ts";
import { visible } from "../../markdown/links.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { Facts } from "../facts.tsx";
import { KeyForm, keyState } from "../forms/key-form.tsx";

/** Who searches the web, what has to be done for the others, and their keys. */
export function WebSearchView() {
  const { t, i18n } = useTranslation(manage);
  const { data, error, refetch } = useWebSearch(i18n.language);
  const mayChange = useCaller().data?.may_administer === true;
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const { engine, opens_pages, general, provider } = data;
  const now = general.find(({ name }) => name === engine)?.title;
  return (
    <div className="shaping-view">
      <Facts
        title={t("webSearch.now")}
        rows={[
          [t("webSearch.engine"), now === undefined ? t("webSearch.none") : visible(now)],
          [t("webSearch.opens"), t(opens_pages ? "models.yes" : "models.no")],
        ]}
      />
      {general.map((one) => (
        <Engine key={one.name} engine={one} mayChange={mayChange} />
      ))}
      {provider.length > 0 && (
        <section className="prompt-part" aria-label={t("webSearch.byVendor")}>
          <h2>{t("webSearch.byVendor")}</h2>
          <p>{visible(provider.map(({ title }) => title).join(", "))}</p>
          <Help lines={provider[0]?.help ?? []} />
        </section>
      )}
    </div>
  );
}

function Engine({
  engine: { name, title, is_available, help, key },
  mayChange,
}: {
  engine: WebSearch["general"][number];
  mayChange: boolean;
}) {
  const { t } = useTranslation(manage);
  return (
    <section className="prompt-part" aria-label={visible(title)}>
      <h2>
        {visible(title)} {is_available && <b className="chip">{t("webSearch.inUse")}</b>}
      </h2>
      {key !== null && (
        <p>
          <code>{key.name}</code> {keyState(t, key)}
        </p>
      )}
      <Help lines={help} />
      {mayChange && key !== null && (
        <Disclosure title={t(key.source === "file" ? "models.newKey" : "models.setKey")}>
          <KeyForm isWanted isStored={key.source === "file"} write={(next) => setSearchKey(name, next)} />
        </Disclosure>
      )}
    </section>
  );
}

/** What has to be done, in order. */
function Help({ lines }: { lines: readonly string[] }) {
  return lines.map((line) => (
    <p key={line} className="hint last-call">
      {visible(line)}
    </p>
  ));
}
