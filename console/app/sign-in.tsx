import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { acceptedKey, ApiError } from "../api/client.ts";
import { currentKey, formsOf, keepKey } from "../api/key.ts";
import { Button } from "../parts/button.tsx";
import { visible } from "../markdown/links.ts";
import { focusAtFirst } from "../parts/focus.ts";
import { messageOf } from "../parts/states.tsx";

/** What a header can hold. */
const possibleKey = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/u;

/**
 * Asks for a key. `isAgain`: above the page, which keeps everything that was typed. `refusal`: what the server has said
 * already.
 */
export function SignIn({ isAgain, refusal = "" }: { isAgain: boolean; refusal?: string }) {
  const { t } = useTranslation();
  const [key, setKey] = useState("");
  const [remember, setRemember] = useState(false);
  const [problem, setProblem] = useState(refusal);
  const [isTrying, setTrying] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const typed = key.trim();
    if (typed === "" || isTrying) return;
    if (!possibleKey.test(typed)) {
      setProblem(t("signIn.impossible"));
      return;
    }
    setTrying(true);
    try {
      keepKey(await acceptedKey(formsOf(typed)), remember);
    } catch (error) {
      const message = visible(messageOf(error));
      const isWrong = error instanceof ApiError && error.status === 401;
      setProblem(isWrong ? `${t("signIn.wrong")} ${message}` : message);
    } finally {
      setTrying(false);
    }
  };
  const form = (
    <form className="sign-in-card" onSubmit={(event) => void submit(event)} aria-labelledby="sign-in-title">
      <img src="/console/icon.svg" width={40} height={40} alt="" />
      <h1 id="sign-in-title">{t("signIn.title")}</h1>
      <p className="hint">{isAgain || currentKey() !== undefined ? t("signIn.again") : t("signIn.hint")}</p>
      <label className="field">
        <span>{t("signIn.key")}</span>
        <input
          className="input"
          type="password"
          autoComplete="current-password"
          ref={focusAtFirst}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </label>
      <label className="check">
        <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
        <span>
          {t("signIn.remember")}
          <small>{t("signIn.rememberHint")}</small>
        </span>
      </label>
      {problem !== "" && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Button type="submit" kind="primary" disabled={key.trim() === "" || isTrying}>
        {t("signIn.submit")}
      </Button>
    </form>
  );
  if (!isAgain) return <main className="sign-in">{form}</main>;
  return (
    <div className="sign-in sign-in-over" role="dialog" aria-modal="true" aria-labelledby="sign-in-title">
      {form}
    </div>
  );
}
