"""What becomes of the names of scipy.signal that have no rule: most is Python over transforms and filters."""

MODULES = ("scipy.signal", "scipy.signal.windows")

TRACED = {
    "CZT ShortTimeFFT StateSpace TransferFunction ZerosPolesGain ZoomFFT dlti lti abcd_normalize cont2discrete",
    "dlsim dimpulse dstep bode dbode freqresp dfreqresp impulse lsim step freqs freqs_zpk freqz freqz_sos",
    "freqz_zpk sosfreqz group_delay ss2tf ss2zpk sos2tf sos2zpk tf2sos tf2ss tf2zpk zpk2sos zpk2ss zpk2tf",
    "bilinear bilinear_zpk lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk normalize invres",
    "invresz unique_roots bessel butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 cheby2 ellip ellipap",
    "ellipord iircomb iirdesign iirfilter iirnotch iirpeak gammatone band_stop_obj firls firwin firwin2 firwin_2d",
    "minimum_phase kaiser_atten kaiser_beta kaiserord argrelextrema argrelmax argrelmin find_peaks find_peaks_cwt",
    "peak_prominences peak_widths chirp gausspulse sawtooth square sweep_poly unit_impulse convolve2d correlate2d",
    "fftconvolve oaconvolve deconvolve wiener decimate detrend envelope filtfilt hilbert hilbert2 lfilter_zi",
    "lfiltic medfilt medfilt2d order_filter resample resample_poly savgol_coeffs savgol_filter sosfilt sosfilt_zi",
    "sosfiltfilt cspline1d cspline1d_eval qspline1d qspline1d_eval gauss_spline coherence csd istft lombscargle",
    "periodogram spectrogram stft welch vectorstrength czt czt_points zoom_fft closest_STFT_dual_window",
    "get_window barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine dpss exponential flattop",
    "gaussian general_cosine general_gaussian general_hamming hamming hann kaiser kaiser_bessel_derived lanczos",
    "nuttall parzen taylor triang tukey whittaker_henderson",
}

CONSTANT = {
    "besselap buttap": "made from an integer order",
    "check_COLA check_NOLA choose_conv_method": "a check of shapes and windows",
    "correlation_lags findfreqs max_len_seq": "indices, bits and frequencies",
}

REFUSED = {
    "remez": "C code runs the exchange algorithm",
    "cspline2d qspline2d spline_filter symiirorder1 symiirorder2": "C code sums beyond the edges",
    "residue residuez": "polynomials are objects that C code reads",
    "place_poles": "added columns of QR have no derivative",
}
