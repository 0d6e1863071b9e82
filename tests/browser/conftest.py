"""Fixtures for tests in a real browser: headless Chromium, driven by playwright. `make test-browser` installs both."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    """Start a headless browser for all tests in a run."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see make test-browser")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no chromium")
    with api.sync_playwright() as playwright:
        quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=path, args=quiet)
        yield browser
        browser.close()
