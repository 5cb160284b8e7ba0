import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { StrictMode, Suspense } from 'react';
import { queryClient } from '@/api/hub';
import { LanguageProvider } from '@/shared/hooks/useWords';
import { Boundary } from './Boundary';
import { Gate } from './Gate';
import { cssVariables, theme } from './theme';

const colorScheme = localStorageColorSchemeManager({ key: 'muster.scheme' });

/** The nonce that the server put into this answer; Mantine's style elements need it. */
function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}

// The scroll lock of dialogs writes a style element too, and takes its nonce from here.
setNonce(nonce());

export function App() {
  return (
    <StrictMode>
      <MantineProvider
        theme={theme} cssVariablesResolver={cssVariables} colorSchemeManager={colorScheme} defaultColorScheme="auto"
        getStyleNonce={nonce} withStaticClasses={false} deduplicateCssVariables
      >
        <QueryClientProvider client={queryClient}>
          <LanguageProvider>
            <Suspense>
              <Boundary at="">
                <Gate />
              </Boundary>
            </Suspense>
          </LanguageProvider>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>
  );
}
